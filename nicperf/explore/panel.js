const FOCUSED = new Set(["input", "select", "button", "summary", "pre"]);

const make = (tag, props = {}, ...children) => {
  const { dataset, ...rest } = props;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset);
  // Keys are the control's own: JupyterLab would take arrows for its cursor, and letters for commands.
  if (FOCUSED.has(tag)) element.dataset.lmSuppressShortcuts = "true";
  element.append(...children);
  return element;
};

// One Vega for all panels of the page; it comes from the kernel, because there may be no network.
let loading;
const vega = (model) =>
  (loading ??= new Promise((resolve, reject) => {
    const take = async (message, buffers) => {
      if (message.kind !== "vega") return;
      model.off("msg:custom", take);
      const url = URL.createObjectURL(new Blob([buffers[0]], { type: "text/javascript" }));
      const script = make("script", { src: url, onload: () => resolve(window.vegaEmbed), onerror: reject });
      document.head.append(script);
    };
    model.on("msg:custom", take);
    model.send({ kind: "vega" });
  }));

let counter = 0;

function render({ model, el }) {
  const state = {}; // what the kernel said last
  let changed = {}; // dotted name, with a side where only one is meant -> value as the reader wrote it
  let number = 0; // of the newest request
  let gesture = 0;
  let last; // name of the control that moved last
  let view;
  let rows = [];
  const id = `nicperf-${(counter += 1)}`;

  // --- the page ---------------------------------------------------------------------------------------------
  const picks = Object.fromEntries(
    ["thread", "configuration", "workload"].map((name) => [name, make("select", { name })]),
  );
  const general = make("p", { className: "wrong", role: "alert", hidden: true });
  const reset = make("button", { type: "button", className: "reset", textContent: "Reset" });
  const head = make(
    "div",
    { className: "head" },
    ...Object.entries(picks).map(([name, select]) => make("label", {}, make("span", { textContent: name }), select)),
    reset,
  );
  const search = make("input", {
    type: "search", className: "search", placeholder: "Search parameters", autocomplete: "off",
  });
  search.setAttribute("aria-label", "Search parameters");
  const only = make("input", { type: "checkbox" });
  const found = make("span", { className: "found" });
  const list = make("ul", { className: "list" });
  list.setAttribute("aria-label", "Parameters");
  const place = make("div", { className: "place" });
  place.setAttribute("role", "img");
  const binding = make("p", { className: "binding" });
  binding.setAttribute("aria-live", "polite");
  const took = make("p", { className: "took" });
  const code = make("pre", { tabIndex: 0 });
  const command = make("pre", { tabIndex: 0 });
  const copier = (text, name) => {
    const button = make("button", { type: "button", textContent: `Copy ${name}`, className: `copy-${name.split(" ")[0]}` });
    button.onclick = async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text); // the page may not write: the reader copies what is selected
        button.textContent = "Selected: press Ctrl+C";
      }
      setTimeout(() => (button.textContent = `Copy ${name}`), 1500);
    };
    return button;
  };
  let csv = "";
  const download = make("button", { type: "button", className: "csv", textContent: "Download CSV" });
  download.onclick = () => {
    const url = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
    make("a", { href: url, download: `${state.thread}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const keep = make(
    "details",
    { className: "keep" },
    make("summary", { textContent: "This setting as code and as a command" }),
    code,
    command,
  );
  const root = make(
    "div",
    { className: "nicperf-explore", id },
    head,
    general,
    make(
      "div",
      { className: "body" },
      make(
        "div",
        { className: "side" },
        make("div", { className: "find" }, search, make("label", {}, only, " moved only"), found),
        list,
      ),
      make(
        "div",
        { className: "main" },
        place,
        binding,
        took,
        make("div", { className: "tools" }, copier(code, "code"), copier(command, "command line"), download),
        keep,
      ),
    ),
  );

  // --- asking -----------------------------------------------------------------------------------------------
  const ask = () => {
    number += 1;
    root.dataset.busy = "yes";
    const at = Object.fromEntries(Object.entries(picks).map(([name, select]) => [name, select.value]));
    model.send({ kind: "ask", ...at, changed, gesture, number });
  };
  const hold = () => (gesture += 1);

  // --- controls ---------------------------------------------------------------------------------------------
  const text = (value) => (typeof value === "number" ? String(+value.toPrecision(12)) : String(value));
  const same = (a, b) => (a === b ? true : Number(a) === Number(b) && String(a).trim() !== "" && typeof b !== "boolean");

  const row = (control) => {
    let side = control.side;
    for (const s of control.sides) if (`${s ? `${s}.` : ""}${control.name}` in changed) side = s;
    const name = () => (side ? `${side}.${control.name}` : control.name);
    const shown = () => control.shown[side];
    const start = () => control.value[shown()];
    const label = make("label", { className: "title", htmlFor: `${id}-${control.name}`, textContent: control.title });
    const origin = make("span", { className: "origin" });
    const back = make("button", { type: "button", className: "back", textContent: "↺", title: "back to the start" });
    back.setAttribute("aria-label", `Reset ${control.title}`);
    const sides = make("select", { className: "sides", title: "which host" });
    sides.setAttribute("aria-label", `Host of ${control.title}`);
    const words = { "": "both hosts", local: "sender", remote: "receiver" };
    sides.append(...control.sides.map((s) => new Option(words[s], s, s === side, s === side)));
    sides.hidden = control.sides.length === 1;
    const note = make("p", { className: "note" });
    const wrong = make("p", { className: "wrong", role: "alert", hidden: true, id: `${id}-${control.name}-wrong` });
    let slider, box;

    const set = (value, from) => {
      if (same(value, start()) && !(sides.value === "" && differs())) delete changed[name()];
      else changed[name()] = value;
      last = control.name;
      paint(from);
      ask();
    };
    const differs = () => control.sides.length > 1 && control.value.local !== control.value.remote;
    const stops = () => control.stops[shown()] ?? [];
    const nearest = (value) => {
      let best = 0;
      stops().forEach((stop, i) => {
        if (Math.abs(stop - value) <= Math.abs(stops()[best] - value)) best = i;
      });
      return best;
    };
    const paint = (from) => {
      const moved = name() in changed;
      const value = moved ? changed[name()] : start();
      item.classList.toggle("moved", moved);
      back.hidden = !moved;
      if (box.type === "checkbox") box.checked = value === true || value === "true";
      else if (from !== box) box.value = text(value);
      if (slider) {
        slider.max = stops().length - 1;
        if (from !== slider) slider.value = nearest(Number(value));
        slider.setAttribute("aria-valuetext", `${text(value)} ${control.unit}`);
      }
      origin.textContent = control.origin[shown()];
      origin.className = `origin ${control.origin[shown()]}`;
      origin.title = control.source[shown()];
      const parts = [control.range && `${control.range} ${control.unit}`.trim()];
      if (control.prior[shown()]) parts.push(`prior ${control.prior[shown()]}`);
      if (differs() && side === "") parts.push(`sender ${text(control.value.local)}, receiver ${text(control.value.remote)}`);
      note.textContent = [parts.filter(Boolean).join("; "), control.doc].filter(Boolean).join(". ");
    };

    const attributes = { id: `${id}-${control.name}`, className: "value", name: control.name };
    if (control.kind === "bool") {
      box = make("input", { ...attributes, type: "checkbox" });
      box.onchange = () => set(box.checked, box);
    } else if (control.kind === "choice") {
      box = make("select", attributes, ...control.choices.map((choice) => new Option(choice, choice)));
      box.onchange = () => set(box.value, box);
    } else {
      box = make("input", { ...attributes, type: "text", inputMode: control.stops[shown()] ? "decimal" : "text" });
      box.autocomplete = "off";
      box.spellcheck = false;
      const take = () => {
        if (box.value !== text(changed[name()] ?? start())) set(box.value, box);
      };
      box.onchange = take;
      box.onkeydown = (event) => {
        if (event.key === "Enter") take(); // JupyterLab keeps the change that a browser makes of it
      };
    }
    box.setAttribute("aria-describedby", wrong.id);
    if (Object.keys(control.stops).length) {
      slider = make("input", { type: "range", min: 0, step: 1, className: "slider" });
      slider.setAttribute("aria-label", `${control.title}, slider`);
      slider.oninput = () => set(stops()[slider.valueAsNumber], slider);
    }
    for (const element of [slider, box].filter(Boolean)) {
      element.addEventListener("pointerdown", hold);
      element.addEventListener("focus", hold);
    }
    sides.onchange = () => {
      const value = changed[name()];
      delete changed[name()];
      side = sides.value;
      if (value === undefined) paint();
      else set(value);
    };
    back.onclick = () => {
      hold();
      delete changed[name()];
      paint();
      ask();
    };
    const unit = make("span", { className: "unit", textContent: control.unit });
    const top = make("div", { className: "top" }, label, sides, back);
    const named = make("div", { className: "named" }, make("code", { textContent: control.name }), origin);
    const line = make("div", { className: "line" }, ...[slider, box, unit].filter(Boolean));
    const item = make("li", { dataset: { name: control.name } }, top, named, line, wrong, note);
    paint();
    const haystack = [control.name, control.title, control.unit, ...Object.values(control.origin), control.doc]
      .join(" ").toLowerCase();
    return {
      item, control, paint, name,
      matches: (terms) => terms.every((term) => haystack.includes(term)),
      moved: () => name() in changed,
      complain: (message) => {
        wrong.textContent = message ?? "";
        wrong.hidden = !message;
        box.setAttribute("aria-invalid", message ? "true" : "false");
      },
    };
  };

  const filter = () => {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const r of rows) {
      const show = r.matches(terms) && (!only.checked || r.moved());
      r.item.hidden = !show;
      count += show;
    }
    found.textContent = `${count} of ${rows.length}`;
  };
  search.oninput = filter;
  only.onchange = filter;

  // --- answers ----------------------------------------------------------------------------------------------
  const complain = (wrong = {}, message = "") => {
    let told = false;
    for (const r of rows) {
      const own = wrong[r.name()] ?? wrong[r.control.name];
      r.complain(own ?? (message && last === r.control.name ? message : undefined));
      told ||= Boolean(own) || (Boolean(message) && last === r.control.name);
    }
    general.textContent = told ? "" : message;
    general.hidden = told || !message;
    root.classList.toggle("nonsense", Boolean(message) || Object.keys(wrong).length > 0);
  };

  const fresh = async (answer) => {
    const known = state.thread === answer.thread;
    Object.assign(state, answer);
    if (!known) changed = { ...answer.changed };
    const fill = (select, options, value) => {
      select.replaceChildren(...options.map(([key, title]) => new Option(title, key, key === value, key === value)));
    };
    fill(picks.thread, answer.threads.map((slug) => [slug, slug]), answer.thread);
    const named = (items) => Object.entries(items).map(([key, title]) => [key, `${key}: ${title}`]);
    fill(picks.configuration, named(answer.configurations), answer.configuration);
    fill(picks.workload, named(answer.workloads), answer.workload);
    const at = list.scrollTop;
    rows = answer.controls.map(row);
    list.replaceChildren(...rows.map((r) => r.item));
    list.scrollTop = known ? at : 0;
    filter();
    const embed = await vega(model);
    const { title, ...spec } = answer.spec;
    const drawn = await embed(place, spec, { renderer: "svg", actions: false, logLevel: 1, ast: true });
    view?.finalize();
    view = drawn.view;
  };

  const draw = async (tables) => {
    for (const [name, values] of Object.entries(tables)) view.data(name, values);
    await view.runAsync();
  };

  const outcome = async (answer) => {
    if (answer.number < number && answer.final) return; // a newer one is on its way
    place.setAttribute("aria-label", answer.spoken);
    code.textContent = answer.code;
    command.textContent = answer.command;
    csv = answer.csv;
    took.textContent = answer.took;
    complain();
    binding.classList.add("stale");
    await draw({ figures: answer.figures, costs: answer.costs });
    if (answer.number === number && answer.final) delete root.dataset.busy;
    root.dataset.drawn = answer.number;
  };

  const hear = {
    state: fresh,
    outcome,
    limits: async (answer) => {
      if (answer.number !== number) return;
      binding.textContent = answer.spoken;
      binding.classList.remove("stale");
      await draw({ limits: answer.limits });
    },
    wrong: async (answer) => {
      if (answer.number !== number) return;
      complain(answer.wrong, answer.general);
      delete root.dataset.busy;
      root.dataset.drawn = answer.number;
    },
  };
  // One after the other: a chart that is still being made cannot take data yet.
  let queue = Promise.resolve();
  const listen = (message) => {
    const act = hear[message.kind];
    if (act) queue = queue.then(() => act(message)).catch((error) => { general.textContent = String(error); general.hidden = false; });
  };
  model.on("msg:custom", listen);

  for (const select of Object.values(picks)) {
    select.onchange = () => {
      hold();
      last = undefined;
      ask();
    };
  }
  reset.onclick = () => {
    hold();
    changed = {};
    last = undefined;
    for (const r of rows) r.paint();
    filter();
    ask();
  };

  el.append(root);
  model.send({ kind: "open" });
  return () => {
    model.off("msg:custom", listen);
    view?.finalize();
  };
}

export default { render };
