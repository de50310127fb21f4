/* A trained spiking network that answers after every time step. Written by `gemsnn export`.
 *
 *     gemsnn_reset(0);                          silence before a recording
 *     gemsnn_step(spikes, n);                   one time step: the inputs that spiked
 *     gemsnn_classes[gemsnn_class()]            the answer so far,
 *     gemsnn_probabilities()[c]                 and how probable each class is
 *
 * C99; allocates nothing, needs no library, keeps one network's state in static memory.
 */
#ifndef GEMSNN_H
#define GEMSNN_H

#include <stddef.h>
#include <stdint.h>

#include "gemsnn_model.h"

/* Labels, in the order of the probabilities. */
extern const char *const gemsnn_classes[GEMSNN_CLASSES];

/* Begin a recording. The key selects its random draws: that of `model.stream(key=...)` in Python. */
void gemsnn_reset(uint64_t key);

/* One time step, from the indices of the inputs that spiked, in any order. Returns the class chosen, or -1, having done
 * nothing, if an index is not below GEMSNN_INPUTS. Call gemsnn_reset before the first step. */
int gemsnn_step(const uint32_t *spikes, size_t n);

/* After the latest step: the class chosen, GEMSNN_CLASSES probabilities, and that of the class chosen. */
int gemsnn_class(void);
const double *gemsnn_probabilities(void);
double gemsnn_confidence(void);

#endif
