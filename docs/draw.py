"""Redraws the pictures of a page by running its code: ``python docs/draw.py docs/looking.md``.

Every ``.png`` that the code writes goes to ``figures/NAME`` beside the page.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
page = Path(sys.argv[1]).absolute()
folder = page.parent / "figures" / page.stem
folder.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    exec("\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)), {})
    for picture in sorted(Path(place).glob("*.png")):
        shutil.copyfile(picture, folder / picture.name)
        print(f"wrote {folder / picture.name}")
