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
