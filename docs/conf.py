"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

from gemsnn import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "gemsnn"
author = "The gemsnn developers"
version = release = __version__
html_title = f"gemsnn {version}"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["gemsnn.css"]
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "mathml", "generated"]
html_math_renderer = "mathml"  # part of the page: no script, and no network, is needed to read an equation
exclude_patterns = ["_ext"]
default_role = "code"
smartquotes = False  # "--" is the beginning of an option

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "model_config"}  # of pydantic, not ours
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
