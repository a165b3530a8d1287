"""Settings of the documentation site; `make docs` builds it into build/docs, without network."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent)]

from simmodels.version import __version__  # noqa: E402  # of this checkout

project = "schedlab"
author = "the schedlab authors"
project_copyright = f"2026 {author}"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
extensions += ["sphinx.ext.viewcode", "pages", "reference"]  # the last two: in _site
exclude_patterns = ["_site", "README.md"]  # index.md stands for README.md
nitpicky = True
# Bare names of libraries and of private types, as annotations have them; parts of types, which Sphinx splits at commas.
# Bare names that are public were found before.
nitpick_ignore_regex = [("py:class", r"(nx|pd|np)\..*|\w+"), ("py:(class|obj)", r".*\[.*")]

myst_enable_extensions = ["deflist", "smartquotes"]
myst_heading_anchors = 4

default_role = "py:obj"
add_module_names = False
autosummary_generate = False  # the pages of reference/api hold what they list
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = napoleon_numpy_docstring = False  # see _site/reference.py
napoleon_use_param = False  # "on, cores" describes two parameters at once
python_maximum_signature_line_length = 72
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"schedlab {release}"
html_static_path = ["_site/static"]
html_extra_path = ["llms.txt"]  # at the root of the site
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
