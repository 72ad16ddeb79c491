"""An executed notebook as one HTML page without a network: Vega once, formulas as MathML, no web fonts."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import pass_context
from math_core import LatexToMathML
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from traitlets import default
from traitlets.config import Config

from nicperf.charts.render import MIME
from nicperf.report.figure import figure_html

TEMPLATES = Path(__file__).parent / "templates"
VEGA_LITE = "6.4"

_HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)<a class="anchor-link"', re.DOTALL)


class ReportExporter(HTMLExporter):
    """Also ``jupyter nbconvert --to nicperf.report.exporter.ReportExporter notebook.ipynb``.

    The page may be given, as ``resources["nicperf"]``, the `pages` of the site (title and file), and `facts`
    (name and value) for its footer.
    """

    export_from_notebook = "nicperf report"

    def _template_name_default(self) -> str:
        return "nicreport"

    @default("extra_template_basedirs")
    def _extra_template_basedirs_default(self) -> list[str]:
        return [str(TEMPLATES)]

    @property
    def default_config(self) -> Config:
        """Charts come before their pictures."""
        config = super().default_config
        config.NbConvertBase.display_data_priority = [MIME, *config.NbConvertBase.display_data_priority]
        return config

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Markdown with formulas as MathML, which browsers draw by themselves."""
        renderer = _Renderer(
            escape=False,
            embed_images=True,
            path=context.get("resources", {}).get("metadata", {}).get("path", ""),
            attachments=context.get("cell", {}).get("attachments", {}),
            anchor_link_text="#",
        )
        html: str = MarkdownWithMath(renderer=renderer).render(source)
        return html

    def from_notebook_node(self, nb: Any, resources: Any = None, **kw: Any) -> tuple[Any, dict[str, Any]]:
        """Page of an executed notebook."""
        page, resources = super().from_notebook_node(nb, resources, **kw)
        # Filled in afterwards: the base class parses the page, and a megabyte of script is no HTML.
        script = f"<script>{vega()}</script>" if 'class="chart"' in page else ""
        page = page.replace("<!--vega-->", script, 1).replace("<!--contents-->", _contents(page), 1)
        return page, resources

    def _init_resources(self, resources: Any) -> Any:
        resources = super()._init_resources(resources)
        resources.setdefault("nicperf", {})
        resources["read"] = lambda name: (TEMPLATES / "nicreport" / name).read_text(encoding="utf-8")
        resources["pygments"] = {scheme: _colours(scheme) for scheme in ("default", "github-dark")}
        return resources

    def default_filters(self) -> Any:
        """Filters of the template."""
        yield from super().default_filters()
        yield "figure_html", figure_html


class _Renderer(IPythonRenderer):
    """Markdown renderer that hands formulas to math-core."""

    def inline_math(self, body: str) -> str:
        return _mathml(body, block=False)

    def block_math(self, body: str) -> str:
        return _mathml(body, block=True)

    def latex_environment(self, name: str, body: str) -> str:
        return _mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", block=True)


def _mathml(latex: str, block: bool) -> str:
    text: str = _converter().convert_with_local_state(latex, displaystyle=block)
    return text


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML()


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script; it sets ``window.vegaEmbed``."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(vl_version=VEGA_LITE)  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script")


def _colours(style: str) -> str:
    return HtmlFormatter(style=style, nobackground=True).get_style_defs(".highlight")


def _contents(page: str) -> str:
    items = "".join(f'<li><a href="#{anchor}">{text}</a></li>' for anchor, text in _HEADING.findall(page))
    return f'<nav class="contents" aria-label="Contents"><ol>{items}</ol></nav>' if items else ""
