"""The process that ``faery_files.py`` starts with PATH MEMORY; it writes events to standard output."""

import sys
from pathlib import Path


def main(path: str, memory: str) -> int:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    except (ImportError, ValueError, OSError):
        pass  # the platform has no such limit
    import faery

    kind = {".raw": "evt", ".aedat4": "aedat"}[Path(path).suffix.lower()]
    try:
        for events in faery.events_stream_from_file(path, file_type=kind):
            sys.stdout.buffer.write(events.tobytes())  # faery's records have the layout of RECORD_DTYPE
            sys.stdout.buffer.flush()
    except BaseException as error:  # its panics are not Exceptions
        print(str(error).splitlines()[0][:200] if str(error) else type(error).__name__, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
