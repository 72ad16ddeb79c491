(() => {
  "use strict";
  const figures = [...document.querySelectorAll("figure.chart")];
  const NARROW = 480;

  const specOf = (figure) => ({
    ...JSON.parse(figure.querySelector("script").textContent),
    $schema: "https://vega.github.io/schema/vega-lite/v6.json", // the name of the format, nothing is fetched
  });

  // A copy of a view whose plots are narrower; views side by side keep their width and scroll.
  const narrower = (view, by) => {
    const copy = { ...view };
    if (typeof view.width === "number") copy.width = Math.max(190, view.width - by);
    for (const part of ["layer", "vconcat"]) if (view[part]) copy[part] = view[part].map((v) => narrower(v, by));
    if (view.spec) copy.spec = narrower(view.spec, by);
    return copy;
  };

  const draw = async (figure) => {
    const place = figure.querySelector(".vega");
    let { title, ...spec } = specOf(figure); // the title stands above, in HTML
    if (place.clientWidth < NARROW) {
      spec = JSON.parse(JSON.stringify(spec).replaceAll('"columns":3', '"columns":2'));
      spec.config.legend = { ...spec.config.legend, columns: 2 };
    }
    const options = { renderer: "svg", actions: false, logLevel: 1 }; // 1 = errors only
    try {
      await vegaEmbed(place, spec, options);
      const excess = place.querySelector("svg.marks").clientWidth - place.clientWidth;
      if (excess > 0) await vegaEmbed(place, narrower(spec, excess), options);
      figure.dataset.drawn = "yes";
    } catch (error) {
      place.textContent = `This chart could not be drawn: ${error.message}`;
      console.error(error);
    }
  };

  const drawAll = async () => {
    for (const figure of figures) {
      await draw(figure);
      await new Promise((done) => setTimeout(done)); // show each as soon as it is there
    }
  };

  const save = (url, name) => Object.assign(document.createElement("a"), { href: url, download: name }).click();

  const button = (text, name, action) => {
    const made = Object.assign(document.createElement("button"), { textContent: text, onclick: action });
    made.setAttribute("aria-label", name);
    return made;
  };

  const picture = async (figure, kind) => {
    const spec = specOf(figure);
    spec.config.background = "white";
    const { view } = await vegaEmbed(document.createElement("div"), spec, { actions: false });
    save(await view.toImageURL(kind, 2), `chart.${kind}`);
  };

  for (const figure of figures) {
    const tools = document.createElement("div");
    tools.className = "tools";
    for (const kind of ["png", "svg"]) {
      tools.append(button(kind.toUpperCase(), `save chart as ${kind.toUpperCase()}`, () => picture(figure, kind)));
    }
    figure.querySelector("script").after(tools);
    const { datasets = {} } = specOf(figure);
    for (const block of figure.querySelectorAll(".data")) {
      const name = block.dataset.name;
      const href = () => `data:text/csv;charset=utf-8,${encodeURIComponent(datasets[name])}`;
      block.querySelector("summary").after(button("CSV", "save data as CSV", () => save(href(), `${name}.csv`)));
    }
  }

  // Rows that hold every word typed; a click on a heading sorts by it, numbers as such, another click the other way round.
  for (const table of document.querySelectorAll("table.filtered")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "show rows with ..." });
    field.setAttribute("aria-label", "show only rows with these words");
    const count = Object.assign(document.createElement("output"), { textContent: `${rows.length} rows` });
    field.oninput = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    const bar = Object.assign(document.createElement("div"), { className: "filter" });
    bar.append(field, count);
    (table.closest(".nicperf-scroll") ?? table).before(bar);
    for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
      const name = head.textContent;
      const sort = Object.assign(document.createElement("button"), { textContent: name });
      const key = (row) => row.cells[column].textContent;
      const number = (row) => Number(key(row).replaceAll(",", ""));
      sort.onclick = () => {
        const falling = head.ariaSort === "ascending" ? -1 : 1;
        for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
        head.ariaSort = falling === 1 ? "ascending" : "descending";
        const numeric = head.className === "n";
        const by = (a, b) => (numeric ? (number(a) || 0) - (number(b) || 0) : key(a).localeCompare(key(b)));
        body.append(...rows.sort((a, b) => falling * by(a, b)));
      };
      head.replaceChildren(sort);
    }
  }

  const allCode = document.getElementById("all-code");
  if (!document.querySelector("details.code")) allCode.parentElement.remove();
  allCode.onchange = () => {
    for (const details of document.querySelectorAll("details.code")) details.open = allCode.checked;
  };

  let width = innerWidth;
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (innerWidth !== width) drawAll();
      width = innerWidth;
    }, 250);
  });
  drawAll();
})();
