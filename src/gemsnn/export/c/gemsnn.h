/* A trained spiking network with an answer after every time step. Written by `gemsnn export`.
 *
 *     gemsnn_reset(0);                          start a recording
 *     gemsnn_step(spikes, n);                   one time step, with the indices of the inputs that spiked
 *     gemsnn_classes[gemsnn_class()]            the answer so far
 *     gemsnn_probabilities()[c]                 the probability of each class
 *
 * C99 without libraries and without allocation; the state of one network is in static memory.
 */
#ifndef GEMSNN_H
#define GEMSNN_H

#include <stddef.h>
#include <stdint.h>

#include "gemsnn_model.h"

/* Labels, in the order of the probabilities. */
extern const char *const gemsnn_classes[GEMSNN_CLASSES];

/* Start a recording. The key selects its random numbers, as `model.stream(key=...)` does in Python. */
void gemsnn_reset(uint64_t key);

/* One time step, from the indices of the inputs that spiked, in any order. Returns the predicted class; or -1, without
 * any effect, if an index is not below GEMSNN_INPUTS. Call gemsnn_reset before the first step. */
int gemsnn_step(const uint32_t *spikes, size_t n);

/* After the latest step: the predicted class, GEMSNN_CLASSES probabilities, and that of the predicted class. */
int gemsnn_class(void);
const double *gemsnn_probabilities(void);
double gemsnn_confidence(void);

#endif
