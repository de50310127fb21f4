/* Reads spikes as lines "step index", in the order of their steps, and prints the answer after every step:
 * step, class, and the probability of each class.
 *
 *     cc -std=c99 -O2 gemsnn.c main.c -o gemsnn
 *     printf '0 3\n0 7\n2 3\n9\n' | ./gemsnn
 *
 * A line with only a step has no spike, so that a recording can end in silence. "reset KEY" starts another recording.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gemsnn.h"

static uint32_t spikes[GEMSNN_INPUTS + 1];
static size_t n_spikes;
static uint64_t steps;  /* completed so far */

static void take_step(void)
{
    int chosen = gemsnn_step(spikes, n_spikes);
    n_spikes = 0;
    printf("%" PRIu64 " %s", steps++, gemsnn_classes[chosen]);
    for (int c = 0; c < GEMSNN_CLASSES; c++)
        printf(" %.17g", gemsnn_probabilities()[c]);
    printf("\n");
}

static void fail(const char *what, const char *line)
{
    fprintf(stderr, "gemsnn: %s: %s", what, line);
    exit(2);
}

int main(void)
{
    char line[128];
    uint64_t step, index, key;
    int begun = 0;

    gemsnn_reset(0);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "reset %" SCNu64, &key) == 1) {
            if (begun)
                take_step();
            begun = 0;
            steps = 0;
            gemsnn_reset(key);
            continue;
        }
        int found = sscanf(line, "%" SCNu64 " %" SCNu64, &step, &index);
        if (found < 1)
            fail("expected \"step index\"", line);
        if (step < steps)
            fail("steps must be in order", line);
        while (steps < step)  /* the steps before this one are complete */
            take_step();
        begun = 1;
        if (found == 2) {
            if (index >= GEMSNN_INPUTS)
                fail("input index out of range", line);
            if (n_spikes == GEMSNN_INPUTS)
                fail("too many spikes in a step", line);
            spikes[n_spikes++] = (uint32_t)index;
        }
    }
    if (begun)
        take_step();
    return 0;
}
