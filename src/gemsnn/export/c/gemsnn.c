/* A spiking network of neurons with GEMSNN_COMPARTMENTS compartments; gemsnn.h documents its use.
 *
 * At every step t, in every compartment k, for neurons i (hidden, then visible) and their sources j:
 *
 *     potential    u_i = bias_i + sum_j sum_b w_{i,j,b} trace_{j,b} + self-memory of i
 *     trace        trace_{j,b} = sum_lag tap_b[lag] spike_j[t - lag],    lag = 1 .. GEMSNN_DURATION
 *     spike        hidden neuron i spikes if uniform < sigmoid(u_i)
 *     evidence     log p(desired spikes of class c | u of the visible neurons)
 *
 * Only sources that spike cause work: their rows of weights are added to q_{b,i}, and u_i is the filtered q. The inputs
 * are the same in all compartments, so their contribution is computed once.
 *
 * gemsnn_model.h contains the parameters and these switches:
 *     GEMSNN_RECURSIVE       exponential filters, computed as recursions; otherwise by their taps
 *     GEMSNN_LEAVING         bases whose truncation at the end of the filter's memory is not negligible
 *     GEMSNN_LISTED          few synapses, listed by source; otherwise a row of weights for every source
 *     GEMSNN_SOMA_RECURSIVE, GEMSNN_SOMA_LAGS    self-memory with a filter of its own; otherwise part of the rows
 *     GEMSNN_CIRCUITS        winner-take-all circuits; GEMSNN_DESIRED_DRIVE    synapses between visible neurons
 *     GEMSNN_TEMPERATURE_STEPS    probabilities are calibrated, for recordings of this many steps
 *     GEMSNN_FIXED           fixed point with a table for the sigmoid; otherwise float
 *
 * With float, spikes are bit-for-bit those of Python's stream, provided that products are not fused with sums (see
 * below), -ffast-math is not used, and float arithmetic has float precision (FLT_EVAL_METHOD 0).
 */
#define GEMSNN_WEIGHTS
#include "gemsnn.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#define K GEMSNN_COMPARTMENTS
#define N GEMSNN_NEURONS  /* hidden, then visible */
#define H GEMSNN_HIDDEN
#define V GEMSNN_CLASSES  /* visible neurons, one per class */
#define B GEMSNN_BASES
#define D GEMSNN_DURATION
#define BYTES(bits) (((bits) + 7) / 8)

/* Visible neurons draw spikes if the decoder counts them; otherwise they are silent, and only the probability of the
 * desired spikes is computed. */
#ifdef GEMSNN_DECODER_VOTE
#define DRAWN N
#else
#define DRAWN H
#endif

#ifdef GEMSNN_FIXED
typedef int32_t value;  /* q, and with GEMSNN_FRACTION more bits filtered q, in units of the neuron's scale */
#else
typedef float value;
#endif

static struct {
    uint64_t key, time;
#if GEMSNN_HISTORY  /* spikes of the last steps, one bit each: slot time % GEMSNN_HISTORY */
    uint8_t input_history[GEMSNN_HISTORY][BYTES(GEMSNN_INPUTS) + 1];
    uint8_t history[GEMSNN_HISTORY][K][BYTES(DRAWN) + 1];
#endif
#ifdef GEMSNN_RECURSIVE
    value input_drive[B][N], drive[K][B][N];  /* q through the recursion */
#else
    value input_rows[D][B * N], rows[K][D][B * N];  /* q of the last steps: slot time % D */
#endif
#ifdef GEMSNN_SOMA_RECURSIVE
    value own_trace[K][GEMSNN_SOMA_BASES][DRAWN + 1];
#endif
#ifdef GEMSNN_DESIRED_DRIVE
    double desired_drive[V][V];  /* contribution of the desired spikes of class c to u of each visible neuron */
#endif
#ifdef GEMSNN_TEMPERATURE_STEPS
    uint64_t input_spikes;  /* so far */
#endif
#if defined(GEMSNN_DECODER_VOTE)
    uint32_t count[K][V];
#elif defined(GEMSNN_DECODER_LIKELIHOOD)
    double sum[K][V];
#elif defined(GEMSNN_DECODER_PER_STEP)
    double sum[V];
#else
#error "this decoder has no C"
#endif
} state;

static int chosen;
static double probabilities[V];

/* ---- exp and log, correct to the last or the second-to-last place, without a library */

static double exp_below_0(double x)  /* x <= 0: 2^m exp(r), |r| <= log(2) / 2 */
{
    union { double number; uint64_t bits; } power;
    double r, series = 1.0;
    int m;

    if (!(x > -708.0))
        return 0.0;
    m = -(int)(0.5 - x * 1.4426950408889634);
    r = (x - m * 0.693147180369123816490) - m * 1.90821492927058770002e-10;  /* log(2) in two parts */
    for (int term = 13; term >= 1; term--)
        series = 1.0 + r * series / term;
    power.bits = (uint64_t)(m + 1023) << 52;
    return series * power.number;
}

#if !defined(GEMSNN_DECODER_VOTE) || defined(GEMSNN_TEMPERATURE_STEPS)
static double log_of(double x)  /* x > 0: with s = (m - 1) / (m + 1), log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) */
{
    union { double number; uint64_t bits; } split;
    const uint64_t half_root = 0x3FE6A09E667F3BCDu;
    double s, square, series = 0.0;
    int exponent;

    split.number = x;
    exponent = (int)((int64_t)(split.bits - half_root) >> 52);
    split.bits -= (uint64_t)(int64_t)exponent << 52;  /* from sqrt(1/2) to sqrt(2) */
    s = (split.number - 1.0) / (split.number + 1.0);
    square = s * s;
    for (int term = 23; term >= 3; term -= 2)
        series = (series + 1.0 / term) * square;
    return exponent * 0.693147180559945309417 + 2.0 * (s + s * series);
}
#endif

/* ---- random numbers: Philox4x64-10 (Salmon et al., 2011), as in numpy.random.Philox */

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *high)
{
    uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xFFFFFFFFu);

    *high = a1 * b1 + (middle >> 32) + (other >> 32);
    return a * b;
}

static void philox(uint64_t count, uint64_t population, uint64_t compartment, uint64_t word[4])
{
    uint64_t a = count, b = 0, c = population, d = compartment, first = GEMSNN_SEED, second = state.key;

    for (int round = 0; round < 10; round++) {
        uint64_t high0, low0 = multiply(0xD2E7470EE14C6C93u, a, &high0);
        uint64_t high1, low1 = multiply(0xCA5A826395121157u, c, &high1);
        a = high1 ^ b ^ first;
        b = low1;
        c = high0 ^ d ^ second;
        d = low0;
        first += 0x9E3779B97F4A7C15u;
        second += 0xBB67AE8584CAA73Bu;
    }
    word[0] = a, word[1] = b, word[2] = c, word[3] = d;
}

/* The n random numbers of this step for hidden (population 0) or visible (1) neurons: each compartment has a stream for
 * each population, which continues from step to step, in blocks of eight. */
static void draw(int population, int k, int n, uint32_t *numbers)
{
    uint64_t place = state.time * (uint64_t)n, word[4] = {0, 0, 0, 0};

    for (int i = 0; i < n; i++, place++) {
        if (i == 0 || place % 8 == 0)
            philox(place / 8 + 1, (uint64_t)population, (uint64_t)k, word);
        numbers[i] = (uint32_t)(word[place % 8 / 2] >> (place % 2 ? 32 : 0));
    }
}

/* ---- filters, in float as in Python's engine, or in fixed point */

#ifdef GEMSNN_FIXED

#define ROUNDED(product, bits) ((value)(((product) + ((int64_t)1 << ((bits) - 1))) >> (bits)))  /* of int64 */

#ifdef GEMSNN_RECURSIVE
static value faded(int b, value held, value fresh, value leaves)
{
    int64_t change = gemsnn_gain[b] * (int64_t)fresh - gemsnn_leaving[b] * (int64_t)leaves;
    return ROUNDED(gemsnn_decay[b] * (int64_t)held + change * ((int64_t)1 << GEMSNN_FRACTION), 30);
}
#endif

#ifdef GEMSNN_SOMA_RECURSIVE
static value own_faded(int b, value held, int spike, int left)
{
    return ROUNDED(gemsnn_soma_decay[b] * (int64_t)held, 30) + (spike ? gemsnn_soma_gain[b] : 0)
           - (left ? gemsnn_soma_leaving[b] : 0);
}
#endif

/* Whether the random number is below sigmoid(u): the table has 2^32 sigmoid at -u = 0, 1/16, 2/16, ..., interpolated
 * linearly; u has 16 binary places. */
static int fires(int32_t u, uint32_t number)
{
    uint32_t size = u < 0 ? 0u - (uint32_t)u : (uint32_t)u, place = size >> 12;
    uint32_t tail = 0;

    if (place < 256) {
        uint64_t fall = gemsnn_sigmoid[place] - gemsnn_sigmoid[place + 1];
        tail = gemsnn_sigmoid[place] - (uint32_t)(fall * (size & 4095) >> 12);
    }
    return u < 0 ? number < tail : number < 0xFFFFFFFFu - tail;
}

#else

#ifdef GEMSNN_RECURSIVE
static value faded(int b, value held, value fresh, value leaves)
{
    return gemsnn_decay[b] * held + gemsnn_gain[b] * fresh - gemsnn_leaving[b] * leaves;
}
#endif

#ifdef GEMSNN_SOMA_RECURSIVE
static value own_faded(int b, value held, int spike, int left)
{
    return gemsnn_soma_decay[b] * held + gemsnn_soma_gain[b] * (float)spike - gemsnn_soma_leaving[b] * (float)left;
}
#endif

/* The threshold of a potential, log(x / (1 - x)) of x = (number + 1/2) / 2^32, with Cephes' logf. */
static float logit(uint32_t number)
{
    union { float number; int32_t bits; } split;
    float x, square, series, y, exponent;
    int32_t above;

    split.number = ((float)number + 0.5f) / ((float)~number + 0.5f);
    above = split.bits - 0x3F3504F3;
    exponent = (float)(above >> 23);
    split.bits = (above & 0x007FFFFF) + 0x3F3504F3;  /* from sqrt(1/2) to sqrt(2) */
    x = split.number - 1.0f;
    square = x * x;
    series = 7.0376836292e-2f;
    series = series * x + -1.1514610310e-1f;
    series = series * x + 1.1676998740e-1f;
    series = series * x + -1.2420140846e-1f;
    series = series * x + 1.4249322787e-1f;
    series = series * x + -1.6668057665e-1f;
    series = series * x + 2.0000714765e-1f;
    series = series * x + -2.4999993993e-1f;
    series = series * x + 3.3333331174e-1f;
    y = x * square * series;
    y = y + exponent * -2.12194440e-4f;
    y = y - 0.5f * square;
    return (x + y) + exponent * 0.693359375f;
}

#endif

/* ---- spikes into q */

static int list_active(const uint8_t *bits, int n, uint32_t *active)
{
    int found = 0;
    for (int byte = 0; byte < BYTES(n); byte++)
        for (int bit = 0; bits[byte] >> bit && 8 * byte + bit < n; bit++)
            if (bits[byte] >> bit & 1)
                active[found++] = (uint32_t)(8 * byte + bit);
    return found;
}

/* q of bases from `base` to `last` - 1: the sum of the weights of the active sources, with indices from `first`. */
static void gather(uint32_t first, const uint32_t *active, int n_active, int base, int last, value *q)
{
    for (int i = base * N; i < last * N; i++)
        q[i] = 0;
#ifdef GEMSNN_LISTED
    for (int a = 0; a < n_active; a++)
        for (uint32_t s = gemsnn_start[first + active[a]]; s < gemsnn_start[first + active[a] + 1]; s++)
            for (int b = base; b < last; b++)
                q[b * N + gemsnn_neuron[s]] += gemsnn_weight_of[s][b];
#else
    int a = 0;
    for (; a + 4 <= n_active; a += 4) {
        const gemsnn_weight *w0 = gemsnn_row[first + active[a]], *w1 = gemsnn_row[first + active[a + 1]];
        const gemsnn_weight *w2 = gemsnn_row[first + active[a + 2]], *w3 = gemsnn_row[first + active[a + 3]];
        for (int i = base * N; i < last * N; i++)
            q[i] += ((value)w0[i] + (value)w1[i]) + ((value)w2[i] + (value)w3[i]);
    }
    for (; a < n_active; a++) {
        const gemsnn_weight *w = gemsnn_row[first + active[a]];
        for (int i = base * N; i < last * N; i++)
            q[i] += w[i];
    }
#endif
}

static uint32_t active[(GEMSNN_INPUTS > N ? GEMSNN_INPUTS : N) + 1];

#ifdef GEMSNN_RECURSIVE
/* R <- decay R + gain q - leaving q of the spikes that are GEMSNN_DURATION steps old. These q are recomputed, since
 * storing them would take GEMSNN_DURATION times the memory. */
static void take_in(uint32_t first, const uint8_t *now, const uint8_t *old, int n, value drive[B][N])
{
    static value fresh[B * N];
#if GEMSNN_LEAVING
    static value oldest[B * N];
    gather(first, active, list_active(old, n, active), B - GEMSNN_LEAVING, B, oldest);
#endif
    gather(first, active, list_active(now, n, active), 0, B, fresh);
    for (int b = 0; b < B; b++)
        for (int i = 0; i < N; i++) {
            value leaves = 0;
#if GEMSNN_LEAVING
            if (b >= B - GEMSNN_LEAVING)
                leaves = oldest[b * N + i];
#endif
            drive[b][i] = faded(b, drive[b][i], fresh[b * N + i], leaves);
        }
    (void)old;
}

static void add_drive(value drive[B][N], value *u)
{
    for (int b = 0; b < B; b++)
        for (int i = 0; i < N; i++)
            u[i] += drive[b][i];
}
#else
/* Sum over lags and bases of tap times q, in the order of the slots, four at a time. */
static gemsnn_tap turned[D * B];

static void turn(void)
{
    for (int lag = 1; lag <= D; lag++) {
        int slot = (int)((state.time + (uint64_t)(D - lag)) % D);
        for (int b = 0; b < B; b++)
            turned[slot * B + b] = gemsnn_taps[b][lag - 1];
    }
}

static void add_drive(value rows[D][B * N], value *u)
{
    const value *lagged = rows[0];
#ifdef GEMSNN_FIXED
    for (int i = 0; i < N; i++) {
        int64_t sum = 0;
        for (int m = 0; m < D * B; m++)
            sum += turned[m] * (int64_t)lagged[m * N + i];
        u[i] += ROUNDED(sum, 30 - GEMSNN_FRACTION);
    }
#else
    int m = 0;
    for (; m + 4 <= D * B; m += 4) {
        const value *q = lagged + m * N;
        for (int i = 0; i < N; i++)
            u[i] += (turned[m] * q[i] + turned[m + 1] * q[N + i])
                    + (turned[m + 2] * q[2 * N + i] + turned[m + 3] * q[3 * N + i]);
    }
    for (; m < D * B; m++)
        for (int i = 0; i < N; i++)
            u[i] += turned[m] * lagged[m * N + i];
#endif
}
#endif

/* ---- the hidden neurons of a compartment */

#if GEMSNN_CIRCUITS
/* In a circuit, the first unit whose cumulative probability exceeds the uniform number spikes; p = SoftMax(u), with
 * u = 0 for the silent state, if there is one. */
static void compete(int c, const double *u, double uniform, uint8_t *spikes)
{
    const uint16_t *member = gemsnn_member + gemsnn_circuit[c];
    int n = gemsnn_circuit[c + 1] - gemsnn_circuit[c], silent = gemsnn_silent[c], winner = silent ? -1 : member[n - 1];
    static double p[N];
    double highest = silent ? 0.0 : u[member[0]], total, cumulated = 0.0;

    for (int m = 0; m < n; m++)
        if (u[member[m]] > highest)
            highest = u[member[m]];
    total = silent ? exp_below_0(-highest) : 0.0;
    for (int m = 0; m < n; m++)
        total += p[m] = exp_below_0(u[member[m]] - highest);
    for (int m = 0; m < n; m++) {
        cumulated += p[m] / total;
        if (uniform < cumulated) {
            winner = member[m];
            break;
        }
    }
    for (int m = 0; m < n; m++)
        spikes[member[m]] = member[m] == winner;
}
#endif

/* Spikes of compartment k, and u of all neurons: the sum of its own contribution and that of the inputs. */
static void run_compartment(int k, const value *shared, uint8_t *spikes, double *u_of)
{
    static uint32_t numbers[N + 1];
    static value u[N];

    for (int i = 0; i < N; i++)
        u[i] = shared[i];
#ifdef GEMSNN_RECURSIVE
    add_drive(state.drive[k], u);
#else
    add_drive(state.rows[k], u);
#endif
#ifdef GEMSNN_SOMA_RECURSIVE
    for (int b = 0; b < GEMSNN_SOMA_BASES; b++)
        for (int i = 0; i < DRAWN; i++)
#ifdef GEMSNN_FIXED
            u[i] += ROUNDED(gemsnn_somatic[b][i] * (int64_t)state.own_trace[k][b][i], 30 - GEMSNN_FRACTION);
#else
            u[i] += gemsnn_somatic[b][i] * state.own_trace[k][b][i];
#endif
#endif
#ifdef GEMSNN_SOMA_LAGS
    for (int lag = 1; lag <= GEMSNN_SOMA_LAGS && (uint64_t)lag <= state.time; lag++) {
        const uint8_t *before = state.history[(state.time - (uint64_t)lag) % GEMSNN_HISTORY][k];
        for (int i = 0; i < DRAWN; i++)
            if (before[i / 8] >> i % 8 & 1)
                u[i] += gemsnn_somatic_lags[lag - 1][i];
    }
#endif
    draw(0, k, H, numbers);
#ifdef GEMSNN_DECODER_VOTE
    draw(1, k, V, numbers + H);
#endif
    for (int i = 0; i < N; i++) {
#ifdef GEMSNN_FIXED
        int64_t wide = gemsnn_bias[i] + (u[i] * (int64_t)gemsnn_scale[i] >> GEMSNN_SCALE_BITS);
        int32_t potential = wide > 0x3FFFFFFF ? 0x3FFFFFFF : wide < -0x3FFFFFFF ? -0x3FFFFFFF : (int32_t)wide;
        u_of[i] = potential / 65536.0;
        if (i < DRAWN)
            spikes[i] = (uint8_t)fires(potential, numbers[i]);
#else
        u_of[i] = u[i];
        if (i < DRAWN)
            spikes[i] = u[i] > logit(numbers[i]);
#endif
    }
#if GEMSNN_CIRCUITS
    for (int c = 0; c < GEMSNN_CIRCUITS; c++) {
        int first = gemsnn_member[gemsnn_circuit[c]];
        if (first < DRAWN) {
#ifdef GEMSNN_FIXED
            double uniform = (numbers[first] + 0.5) / 4294967296.0;
#else
            double threshold = logit(numbers[first]), tail = exp_below_0(threshold < 0 ? threshold : -threshold);
            double uniform = (threshold < 0 ? tail : 1.0) / (1.0 + tail);
#endif
            compete(c, u_of, uniform, spikes);
        }
    }
#endif
}

/* Update the state of compartment k with its spikes. */
static void remember(int k, const uint8_t *spikes)
{
    uint8_t bits[BYTES(DRAWN) + 1] = {0};
    const uint8_t *old = bits;

    for (int i = 0; i < DRAWN; i++)
        if (spikes[i])
            bits[i / 8] |= (uint8_t)(1u << i % 8);
#ifdef GEMSNN_SOMA_RECURSIVE
    for (int b = 0; b < GEMSNN_SOMA_BASES; b++)
        for (int i = 0; i < DRAWN; i++) {
            int left = 0;
#ifdef GEMSNN_SOMA_LEAVING
            const uint8_t *then =
                state.history[(state.time + GEMSNN_HISTORY - GEMSNN_SOMA_DURATION) % GEMSNN_HISTORY][k];
            left = then[i / 8] >> i % 8 & 1;
#endif
            state.own_trace[k][b][i] = own_faded(b, state.own_trace[k][b][i], spikes[i], left);
        }
#endif
#ifdef GEMSNN_RECURSIVE
#if GEMSNN_LEAVING
    old = state.history[(state.time + GEMSNN_HISTORY - D) % GEMSNN_HISTORY][k];
#endif
    take_in(GEMSNN_INPUTS, bits, old, GEMSNN_FEEDING, state.drive[k]);
#else
    gather(GEMSNN_INPUTS, active, list_active(bits, GEMSNN_FEEDING, active), 0, B, state.rows[k][state.time % D]);
#endif
#if GEMSNN_HISTORY
    for (int byte = 0; byte < BYTES(DRAWN); byte++)
        state.history[state.time % GEMSNN_HISTORY][k][byte] = bits[byte];
#endif
    (void)old;
}

/* ---- answers */

static void softmax(const double *score)  /* sets the probabilities, and the predicted class: the first maximum */
{
    double total = 0.0;

    chosen = 0;
    for (int c = 1; c < V; c++)
        if (score[c] > score[chosen])
            chosen = c;
    for (int c = 0; c < V; c++)
        total += probabilities[c] = exp_below_0(score[c] - score[chosen]);
    for (int c = 0; c < V; c++)
        probabilities[c] /= total;
}

#ifdef GEMSNN_DECODER_VOTE

/* Compartment k votes for the visible neuron that has spiked most; ties of votes are broken by all spikes. */
static void answer(void)
{
    double votes[V] = {0};
    uint64_t total[V] = {0};
    int winner = 0;

    for (int k = 0; k < K; k++) {
        int most = 0;
        for (int c = 0; c < V; c++) {
            total[c] += state.count[k][c];
            if (state.count[k][c] > state.count[k][most])
                most = c;
        }
        votes[most] += 1.0;
    }
    for (int c = 1; c < V; c++)
        if (votes[c] > votes[winner] || (votes[c] == votes[winner] && total[c] > total[winner]))
            winner = c;
    softmax(votes);
    chosen = winner;
}

#else

/* Log-probability of silence under potentials u, which normalises the probability of the desired spikes. */
static double of_silence(const double *u)
{
    double sum = 0.0;
#if GEMSNN_CIRCUITS
    const uint32_t n_hidden = H;  /* which may be 0 */
#endif

    for (int v = 0; v < V; v++)
        if (gemsnn_alone[v])  /* log(1 - sigmoid(u)) */
            sum -= (u[v] > 0 ? u[v] : 0.0) + log_of(1.0 + exp_below_0(u[v] > 0 ? -u[v] : u[v]));
#if GEMSNN_CIRCUITS
    for (int c = 0; c < GEMSNN_CIRCUITS; c++) {
        int first = gemsnn_circuit[c], last = gemsnn_circuit[c + 1];
        if (gemsnn_member[first] >= n_hidden) {
            double highest = gemsnn_silent[c] ? 0.0 : u[gemsnn_member[first] - H], total;
            for (int m = first; m < last; m++)
                if (u[gemsnn_member[m] - H] > highest)
                    highest = u[gemsnn_member[m] - H];
            total = gemsnn_silent[c] ? exp_below_0(-highest) : 0.0;
            for (int m = first; m < last; m++)
                total += exp_below_0(u[gemsnn_member[m] - H] - highest);
            sum -= highest + log_of(total);
        }
    }
#endif
    return sum;
}

/* log p(neuron c spikes, the others do not), for every class c. */
static void find_evidence(const double *u, double *evidence)
{
#ifdef GEMSNN_DESIRED_DRIVE
    for (int c = 0; c < V; c++) {
        double driven[V];
        for (int v = 0; v < V; v++)
            driven[v] = u[v] + state.desired_drive[c][v];
        evidence[c] = of_silence(driven) + driven[c];
    }
#else
    double silence = of_silence(u);
    for (int c = 0; c < V; c++)
        evidence[c] = silence + u[c];
#endif
}

#ifdef GEMSNN_DESIRED_DRIVE
/* The desired spikes of class c, one per step from neuron c, now reach one more lag. */
static void drive_on(void)
{
    if (state.time < GEMSNN_DESIRED_DRIVE)
        for (int c = 0; c < V; c++)
            for (int v = 0; v < V; v++)
                state.desired_drive[c][v] += gemsnn_desired_drive[state.time][c][v];
}
#endif

static double log_mean_exp(double evidence[K][V], int c)
{
    double highest = evidence[0][c], total = 0.0;

    for (int k = 1; k < K; k++)
        if (evidence[k][c] > highest)
            highest = evidence[k][c];
    for (int k = 0; k < K; k++)
        total += exp_below_0(evidence[k][c] - highest);
    return highest + log_of(total / K);
}

static void answer(double evidence[K][V])
{
    double score[V];

    for (int c = 0; c < V; c++) {
#ifdef GEMSNN_DECODER_PER_STEP  /* mean over steps of the log of the mean probability */
        state.sum[c] += log_mean_exp(evidence, c);
        score[c] = state.sum[c] / (double)(state.time + 1);
#else  /* log of the mean over compartments of the product over steps */
        for (int k = 0; k < K; k++)
            state.sum[k][c] += evidence[k][c];
        score[c] = log_mean_exp(state.sum, c);
#endif
    }
    softmax(score);
}

#endif

#ifdef GEMSNN_TEMPERATURE_STEPS
/* Position of log2(ratio) among the knots at 1/32, 1/16, ..., 1: the knot before it, and the distance from there. */
static int knot_before(double ratio, double *rest)
{
    double place = log_of(ratio) / 0.693147180559945309417 + 5.0;
    int knot;

    place = place < 0.0 ? 0.0 : place > 5.0 ? 5.0 : place;
    knot = place < 4.0 ? (int)place : 4;
    *rest = place - knot;
    return knot;
}

/* p <- p^beta / sum p^beta, beta = s / (s + 1) exp f(log2 t / T, log2 s / s_t): f is bilinear between its knots, s is
 * the number of input spikes so far, and s_t its median after t steps. The order of the classes is unchanged. */
static void temper(void)
{
    double share = (double)(state.time + 1) / GEMSNN_TEMPERATURE_STEPS, seen = (double)state.input_spikes;
    double usual = gemsnn_median_spikes[19] * (share > 1.0 ? share : 1.0), late, many, f, power, score[V];
    int time, spikes, winner = chosen;

    if (share < 1.0) {
        int before = (int)(share * 20.0);
        double low = before ? gemsnn_median_spikes[before - 1] : 0.0;
        usual = low + (gemsnn_median_spikes[before] - low) * (share * 20.0 - before);
    }
    if (usual < 1e-9)
        usual = 1e-9;
    time = knot_before(share, &late);
    spikes = knot_before((seen > 1e-9 ? seen : 1e-9) / usual, &many);
    f = (1.0 - late) * ((1.0 - many) * gemsnn_log_power[time][spikes] + many * gemsnn_log_power[time][spikes + 1])
        + late * ((1.0 - many) * gemsnn_log_power[time + 1][spikes] + many * gemsnn_log_power[time + 1][spikes + 1]);
    power = seen / (seen + 1.0) * (f > 0.0 ? 1.0 / exp_below_0(-f) : exp_below_0(f));
    for (int c = 0; c < V; c++)
        score[c] = power * log_of(probabilities[c] > 2.2250738585072014e-308 ? probabilities[c] : 2.2250738585072014e-308);
    softmax(score);
    chosen = winner;
}
#endif

/* ---- interface */

void gemsnn_reset(uint64_t key)
{
    unsigned char *bytes = (unsigned char *)&state;

    for (size_t i = 0; i < sizeof state; i++)  /* zero for integers and for IEEE 754 */
        bytes[i] = 0;
    state.key = key;
    chosen = 0;
    for (int c = 0; c < V; c++)
        probabilities[c] = 1.0 / V;
}

int gemsnn_step(const uint32_t *spikes, size_t n)
{
    static uint8_t fired[N];
    static double u[N];
    static value shared[N];
#ifndef GEMSNN_DECODER_VOTE
    static double evidence[K][V];
#endif
    uint8_t bits[BYTES(GEMSNN_INPUTS) + 1] = {0};
    const uint8_t *old = bits;

    for (size_t a = 0; a < n; a++) {
        if (spikes[a] >= GEMSNN_INPUTS)
            return -1;
        bits[spikes[a] / 8] |= (uint8_t)(1u << spikes[a] % 8);
    }
    for (int i = 0; i < N; i++) {
#ifdef GEMSNN_FIXED
        shared[i] = 0;  /* the bias is added to the scaled potential */
#else
        shared[i] = gemsnn_bias[i];
#endif
    }
#ifdef GEMSNN_RECURSIVE
    add_drive(state.input_drive, shared);
#else
    turn();
    add_drive(state.input_rows, shared);
#endif
    for (int k = 0; k < K; k++) {
        run_compartment(k, shared, fired, u);
#ifdef GEMSNN_DECODER_VOTE
        for (int c = 0; c < V; c++)
            state.count[k][c] += fired[H + c];
#else
        find_evidence(u + H, evidence[k]);
#endif
        remember(k, fired);
    }
#ifdef GEMSNN_RECURSIVE
#if GEMSNN_LEAVING
    old = state.input_history[(state.time + GEMSNN_HISTORY - D) % GEMSNN_HISTORY];
#endif
    take_in(0, bits, old, GEMSNN_INPUTS, state.input_drive);
#else
    gather(0, active, list_active(bits, GEMSNN_INPUTS, active), 0, B, state.input_rows[state.time % D]);
#endif
#if GEMSNN_HISTORY
    for (int byte = 0; byte < BYTES(GEMSNN_INPUTS); byte++)
        state.input_history[state.time % GEMSNN_HISTORY][byte] = bits[byte];
#endif
    (void)old;
#ifdef GEMSNN_DECODER_VOTE
    answer();
#else
    answer(evidence);
#ifdef GEMSNN_DESIRED_DRIVE
    drive_on();
#endif
#endif
#ifdef GEMSNN_TEMPERATURE_STEPS
    state.input_spikes += (uint64_t)list_active(bits, GEMSNN_INPUTS, active);
    temper();
#endif
    state.time++;
    return chosen;
}

int gemsnn_class(void)
{
    return chosen;
}

const double *gemsnn_probabilities(void)
{
    return probabilities;
}

double gemsnn_confidence(void)
{
    return probabilities[chosen];
}
