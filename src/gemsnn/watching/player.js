"use strict";
// Plays recordings. Everything drawn depends on one number, the position in time steps.
// Names of classes and recordings are untrusted: they are only set as text (textContent), never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const COLOURS = ["#3b82f6", "#f0761b", "#17a673", "#a05be0", "#e0455e", "#1b9aaa",
    "#c29a05", "#d65db1", "#8b6b4a", "#6f8f2f", "#7a6ff0", "#7b8794"];
  const OFF = [59, 130, 246], ON = [240, 118, 27];
  const LANE = 11, FADE_MS = 120;
  const KEPT = 1000;  // smallest number of steps of a live stream in memory
  const UNLIKE = "unlike anything it was trained on";
  const SHORT_MS = 2000;  // shorter recordings play in slow motion

  // ---- unpacking (see packing.py)

  const bytes = (text) => {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  };
  const numbers = (text) => {
    const from = bytes(text), out = [];
    for (let i = 0; i < from.length;) {
      let value = 0, shift = 1;
      while (from[i] > 127) { value += (from[i++] & 127) * shift; shift *= 128; }
      out.push(value + from[i++] * shift);
    }
    return out;
  };
  const shares = (text) => {
    const from = bytes(text), out = new Float32Array(from.length / 2);
    for (let i = 0; i < out.length; i++) out[i] = (from[2 * i] + 256 * from[2 * i + 1]) / 65535;
    return out;
  };
  const spikes = (text, frames) => {  // an array of places for each frame
    const flat = numbers(text), out = [];
    let at = 0;
    for (let f = 0; f < frames; f++) {
      const places = new Uint32Array(flat[at++]);
      for (let i = 0, place = 0; i < places.length; i++) places[i] = place += flat[at++];
      out.push(places);
    }
    return out;
  };

  const unpack = (scene) => {
    if (scene.ready) return scene;
    const F = scene.frames, S = scene.shown.length;
    let end = 0;
    scene.ends = numbers(scene.ends).map((steps) => end += steps);
    scene.spikes = spikes(scene.spikes, F);
    scene.hidden = spikes(scene.hidden, F);
    scene.answers = numbers(scene.answers);
    scene.confidences = shares(scene.confidences);
    scene.unusual = numbers(scene.unusual);
    let spent = 0;
    scene.spent = numbers(scene.hidden_spikes).map((count) => spent += count);
    const p = shares(scene.probabilities);
    scene.p = Array.from({ length: F }, (_, f) => p.subarray(f * S, (f + 1) * S));
    scene.ready = true;
    return scene;
  };

  // ---- words

  const name = (index) => data.classes[index];
  const colour = (scene, index) => {
    const place = scene.shown.indexOf(index);
    return place < 0 ? "var(--soft)" : COLOURS[place % COLOURS.length];
  };
  const time = (scene, steps) => {
    if (!scene.step_ms) return `${Math.round(steps)} steps`;
    const ms = steps * scene.step_ms;
    return ms >= 1000 || scene.steps * scene.step_ms >= 2000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.round(ms)} ms`;
  };
  const css = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  const element = (tag, kind, text) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const inSet = (scene, index, steps) => {
    const left = scene.promise.left[index];
    return !left || steps < left;
  };
  const listed = (indices) => `{${indices.map(name).join(", ")}}`;

  // ---- canvases: curves and rasters are drawn once as a layer, and shown up to the position

  const fit = (canvas, height) => {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 300;
    canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const draw = canvas.getContext("2d");
    draw.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw.clearRect(0, 0, width, height);
    return { draw, width, height, ratio };
  };
  const layer = (width, height, ratio, paint) => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const draw = canvas.getContext("2d");
    draw.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(draw);
    return canvas;
  };

  let scene = null, position = 0, playing = false, before = 0, layers = {}, following = true;

  // The fraction of a drawing's width that a number of steps covers; a live stream is shown from its `begin`.
  const begin = () => scene.begin || 0;
  const span = () => Math.max(scene.steps - begin(), 1);
  const passed = (steps) => Math.max(0, steps - begin()) / span();
  const frameAt = (steps) => {  // the last frame that is complete after so many steps; -1 before the first
    let low = 0, high = scene.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (scene.ends[middle] <= steps + 1e-9) low = middle + 1; else high = middle;
    }
    return low - 1;
  };

  const grow = (key, size, paint, draw, x, height, left, top) => {
    // a layer for this canvas, shown up to x
    const kept = layers[key];
    if (!kept || kept.size !== size || scene.live) layers[key] = { size, canvas: paint() };
    const { canvas } = layers[key];
    draw.save();
    draw.beginPath();
    draw.rect(left, 0, Math.max(0, x - left), height);
    draw.clip();
    draw.setTransform(1, 0, 0, 1, 0, 0);
    draw.drawImage(canvas, 0, top);
    draw.restore();
  };

  const drawEye = (frame) => {
    if (!scene.on_grid) return drawRows(frame);
    const canvas = $("eye"), { width, height } = scene;
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    canvas.style.height = "";
    canvas.style.aspectRatio = `${width} / ${height}`;
    canvas.getContext("2d").putImageData(image(frame), 0, 0);
  };
  const fading = () => {  // number of frames that are visible
    const ms = scene.play_ms * span() / Math.max(1, scene.ends.length);
    return Math.max(1, Math.round(FADE_MS / ms));
  };
  const busiest = () => {
    const back = fading(), counts = scene.spikes.map((places) => places.length);
    let best = 0, most = -1, sum = 0;
    counts.forEach((count, f) => {
      sum += count - (f >= back ? counts[f - back] : 0);
      if (sum > most) { most = sum; best = f; }
    });
    return best;
  };
  const image = (frame) => {  // the latest frame in full colour, earlier ones fading
    const { width, height } = scene, cells = width * height, back = fading();
    const off = new Float32Array(cells), on = new Float32Array(cells);
    for (let f = Math.max(0, frame - back + 1); f <= frame; f++) {
      const weight = 1 - (frame - f) / back;
      for (const place of scene.spikes[f]) {
        if (!scene.two_colours || place >= cells) on[place % cells] = weight;
        else off[place] = weight;
      }
    }
    const out = new ImageData(width, height);
    for (let i = 0; i < cells; i++) {
      const sum = on[i] + off[i];
      if (!sum) continue;
      const share = on[i] / sum;
      for (let c = 0; c < 3; c++) out.data[4 * i + c] = ON[c] * share + OFF[c] * (1 - share);
      out.data[4 * i + 3] = 255 * Math.max(on[i], off[i]);
    }
    return out;
  };
  const raster = (draw, rows, frames, width, height, dot) => {
    const thick = Math.max(1, Math.min(3, 0.9 * height / Math.max(1, rows)));
    const wide = Math.max(1, Math.min(3, 0.9 * width / span()));
    draw.fillStyle = dot;
    for (let f = 0; f < frames.length; f++) {
      const x = passed(scene.ends[f]) * width - wide;
      for (const row of frames[f]) draw.fillRect(x, (row + 0.5) / rows * height - thick / 2, wide, thick);
    }
  };
  const drawRows = (frame) => {
    const canvas = $("eye");
    canvas.style.aspectRatio = "auto";
    const { draw, width, height, ratio } = fit(canvas, 300);
    const x = frame < 0 ? 0 : passed(scene.ends[frame]) * width;
    grow("eye", width, () => layer(width, height, ratio, (on) => raster(on, scene.height, scene.spikes, width, height,
      `rgb(${ON})`)), draw, x, height, 0, 0);
    playhead(draw, x, height);
  };
  const drawHidden = (frame) => {
    const rows = scene.hidden_rows;
    const { draw, width, height, ratio } = fit($("hidden"), rows ? Math.max(60, Math.min(240, rows * 1.6)) : 30);
    const x = frame < 0 ? 0 : passed(scene.ends[frame]) * width;
    if (rows) {
      grow("hidden", width, () => layer(width, height, ratio, (on) => raster(on, rows, scene.hidden, width, height,
        css("--ink"))), draw, x, height, 0, 0);
    }
    stopLine(draw, 0, width, height);
    playhead(draw, x, height);
  };
  const playhead = (draw, x, height) => {
    draw.fillStyle = css("--link");
    draw.fillRect(Math.max(0, x - 0.75), 0, 1.5, height);
  };
  const stopLine = (draw, left, width, height, label) => {
    if (scene.stopped === null || scene.stopped === undefined) return;
    if (scene.stopped >= scene.steps && scene.members.length > scene.promise.size) return;
    if (position < scene.stopped) return;
    const x = left + passed(scene.stopped) * width;
    draw.strokeStyle = css("--yes");
    draw.setLineDash([4, 3]);
    draw.beginPath();
    draw.moveTo(x, 0);
    draw.lineTo(x, height);
    draw.stroke();
    draw.setLineDash([]);
    if (!label) return;
    draw.fillStyle = css("--yes");
    const atRight = x > left + 0.7 * width;
    draw.textAlign = atRight ? "right" : "left";
    draw.fillText("stop", x + (atRight ? -5 : 5), 11);
  };
  const drawCurves = (frame) => {
    const lanes = scene.promise ? scene.shown.length * LANE + 14 : 0, plot = 210;
    const { draw, width, height, ratio } = fit($("curves"), plot + 20 + lanes);
    const left = 30, wide = width - left - 6, y = (p) => 6 + (1 - p) * (plot - 12);
    const X = (steps) => left + passed(steps) * wide, now = frame < 0 ? 0 : scene.ends[frame], x = X(now);
    draw.font = "11px system-ui, sans-serif";
    draw.textBaseline = "alphabetic";
    draw.lineWidth = 1;
    for (const p of [0, 0.5, 1]) {
      draw.fillStyle = css("--line");
      draw.fillRect(left, y(p) - 0.5, wide, 1);
      draw.fillStyle = css("--soft");
      draw.textAlign = "right";
      draw.fillText(String(p), left - 6, y(p) + 4);
    }
    draw.textAlign = "left";
    draw.fillText(time(scene, begin()), left, plot + 14);
    draw.textAlign = "right";
    draw.fillText(time(scene, scene.steps), left + wide, plot + 14);
    if (scene.promise) {
      // Each checkpoint, and the probability below which a class leaves the set.
      scene.promise.checkpoints.forEach((steps, i) => {
        if (steps > scene.steps || steps < begin()) return;
        draw.fillStyle = css("--line");
        draw.fillRect(X(steps) - 0.5, 6, 1, plot - 12);
        draw.fillStyle = css("--soft");
        draw.fillRect(X(steps) - 4, y(scene.promise.thresholds[i]) - 1, 8, 2);
      });
    }
    const best = frame < 0 ? -1 : scene.shown.indexOf(scene.answers[frame]);
    grow("curves", `${width} ${best}`, () => layer(width, height, ratio, (on) => {
      on.lineJoin = "round";
      scene.shown.forEach((_, place) => {
        on.strokeStyle = COLOURS[place % COLOURS.length];
        on.globalAlpha = place === best ? 1 : 0.7;
        on.lineWidth = place === best ? 2.6 : 1.3;
        on.beginPath();
        scene.p.forEach((p, f) => (f ? on.lineTo(X(scene.ends[f]), y(p[place])) : on.moveTo(X(scene.ends[f]), y(p[place]))));
        on.stroke();
      });
      on.globalAlpha = 1;
      if (!scene.promise) return;
      scene.shown.forEach((index, place) => {
        const until = scene.promise.left[index] || Math.max(scene.steps, 1);
        on.fillStyle = COLOURS[place % COLOURS.length];
        on.fillRect(left, plot + 26 + place * LANE, X(until) - left, LANE - 4);
      });
    }), draw, x + 0.5, height, left, 0);
    if (scene.promise) {
      draw.textAlign = "right";
      draw.fillStyle = css("--soft");
      draw.font = "9.5px system-ui, sans-serif";
      scene.shown.forEach((index, place) => {
        const words = name(index), short = words.length > 4 ? `${words.slice(0, 3)}…` : words;
        draw.fillText(short, left - 6, plot + 33 + place * LANE);
      });
      draw.font = "11px system-ui, sans-serif";
    }
    stopLine(draw, left, wide, height, true);
    playhead(draw, x, height);
  };

  // ---- words and bars

  let bars = [], chips = new Map();
  const prepare = () => {
    const list = $("bars"), set = $("set");
    list.replaceChildren();
    set.replaceChildren();
    chips = new Map();
    bars = scene.shown.map((index, place) => {
      const row = element("div", "bar"), label = element("b", "", name(index)), box = element("div");
      const fill = element("i"), value = element("span");
      label.title = name(index);
      row.style.setProperty("--c", COLOURS[place % COLOURS.length]);
      box.append(fill);
      row.append(label, box, value);
      list.append(row);
      return { index, row, fill, value };
    });
    $("name").textContent = scene.name;
    $("truth").textContent = scene.truth === null || scene.truth === undefined ? "" : `truth: ${scene.truth}`;
    $("eye-key").hidden = !scene.two_colours;
    $("eye-title").textContent = scene.on_grid ? "Events" : "Input spikes";
    $("eye").setAttribute("aria-label", scene.on_grid ? "events on the grid of the sensor" : "input spikes over time");
    const notes = [];
    if (scene.promise) {
      notes.push("Vertical lines are checkpoints: a class with a probability below the tick leaves the set. The bars "
        + "below the curves show how long each class stays in the set");
    }
    if (scene.merged > 1) {
      notes.push(scene.on_grid ? `${scene.merged} × ${scene.merged} cells are drawn as one`
        : `${scene.merged} inputs are drawn as one row`);
    }
    if (scene.frames && scene.frames < scene.steps) {
      notes.push(`${scene.steps} steps are drawn as ${scene.frames} frames`);
    }
    if (scene.hidden_rows < scene.hidden_of) notes.push(`${scene.hidden_rows} of ${scene.hidden_of} hidden neurons are drawn`);
    if (scene.shown.length < data.classes.length) {
      const which = scene.live ? "the first" : "the most probable";
      notes.push(`${scene.shown.length} of ${data.classes.length} classes are drawn: ${which}`);
    }
    $("notes").textContent = notes.map((note) => `${note}.`).join(" ");
    $("hidden-title").textContent = scene.hidden_of
      ? `Hidden spikes: ${scene.hidden_of} neurons${scene.compartments > 1 ? `, the first of ${scene.compartments} compartments` : ""}`
      : "No hidden neurons";
    if (scene.promise) {
      set.append(element("span", "word", "set"));
      for (const index of scene.shown) {
        const chip = element("span", "chip", name(index));
        chip.title = name(index);
        chip.style.setProperty("--c", colour(scene, index));
        chips.set(index, chip);
        set.append(chip);
      }
      const others = data.classes.length - scene.shown.length;
      if (others > 0) {
        chips.set("others", element("span", "word", ""));
        set.append(chips.get("others"));
      }
    }
    set.hidden = $("stop").hidden = $("to-stop").hidden = !scene.promise;
    $("to-stop").disabled = !(scene.promise && scene.stopped < scene.steps);
    $("scrub").max = scene.steps;
    $("whole").textContent = scene.live ? "" : ` / ${time(scene, scene.steps)}`;
    layers = {};
  };

  const describe = (frame) => {
    const answer = frame < 0 ? null : scene.answers[frame], steps = frame < 0 ? 0 : scene.ends[frame];
    $("answer").textContent = answer === null ? "…" : name(answer);
    $("answer").style.color = answer === null ? "" : colour(scene, answer);
    const unlike = answer !== null && scene.unusual[frame] ? ` · ${UNLIKE}${scene.promise ? ", no guarantee" : ""}` : "";
    $("sure").textContent = answer === null ? "no events yet" : `${(100 * scene.confidences[frame]).toFixed(0)} % sure${unlike}`;
    if (scene.nothing && frame >= scene.answers.length - 1) showNothing(answer === null ? "" : `before: ${name(answer)}`);
    for (const { index, row, fill, value } of bars) {
      const p = frame < 0 ? 0 : scene.p[frame][scene.shown.indexOf(index)];
      fill.style.width = `${100 * p}%`;
      value.textContent = frame < 0 ? "" : `${(100 * p).toFixed(0)} %`;
      row.classList.toggle("top", index === answer);
      row.classList.toggle("gone", Boolean(scene.promise) && !inSet(scene, index, steps));
    }
    if (scene.promise) {
      for (const [index, chip] of chips) {
        if (index !== "others") { chip.classList.toggle("gone", !inSet(scene, index, steps)); continue; }
        let inside = 0;
        for (let c = 0; c < data.classes.length; c++) inside += !chips.has(c) && inSet(scene, c, steps);
        chip.textContent = inside ? `and ${inside} more` : "";
      }
      describeStop(steps);
    }
    const done = frame < 0 ? 0 : scene.spent[frame];
    $("spent").textContent = scene.live ? "" : `${done} of ${scene.spent[scene.spent.length - 1] || 0} spikes so far`;
    $("clock").textContent = time(scene, steps);
    $("scrub").value = position;
    $("scrub").setAttribute("aria-valuetext", $("clock").textContent);
  };
  const possible = (steps) => data.classes.map((_, c) => c).filter((c) => inSet(scene, c, steps));
  const describeStop = (steps) => {
    const box = $("stop"), known = scene.stopped !== null && steps >= scene.stopped;
    const kept = possible(known ? scene.stopped : steps), small = kept.length <= scene.promise.size;
    const missed = scene.truth !== null && scene.truth !== undefined && !kept.map(name).includes(scene.truth);
    box.classList.toggle("not", !(known && small));
    box.classList.toggle("miss", known && small && missed);
    if (!known) {
      box.textContent = `${kept.length} of ${data.classes.length} classes are still possible`;
    } else if (!small) {
      box.textContent = `no early stop: ${kept.length} classes are still possible at the end`;
    } else {
      const saved = 1 - scene.stopped / scene.steps, all = scene.spent[scene.spent.length - 1] || 1;
      const spared = 1 - scene.spent[frameAt(scene.stopped)] / all;
      const gain = scene.live || saved <= 0 ? ""
        : `: ${(100 * saved).toFixed(0)} % of the time and ${(100 * spared).toFixed(0)} % of the spikes saved`;
      const what = kept.length ? listed(kept) : "an empty set: no class fits";
      const miss = missed ? `; the true class is not in it, as for at most ${+(100 * scene.promise.alpha).toFixed(4)} % of recordings` : "";
      box.textContent = `would stop after ${time(scene, scene.stopped)} with ${what}${gain}${miss}`;
    }
  };

  // ---- time

  const show = () => {
    const frame = frameAt(position);
    drawEye(frame);
    drawCurves(frame);
    drawHidden(frame);
    describe(frame);
  };
  const seek = (steps) => {
    position = Math.max(0, Math.min(scene.steps, steps));
    following = position >= scene.steps;
    show();
  };
  const play = (wanted) => {
    playing = wanted;
    $("play").textContent = playing ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", playing ? "pause" : "play");
    if (playing) {
      if (!scene.live && position >= scene.steps) position = 0;
      if (scene.live) { following = true; position = scene.steps; }
      before = performance.now();
      requestAnimationFrame(tick);
    }
  };
  const tick = (now) => {
    if (!playing) return;
    if (scene.live) {
      if (following) position = scene.steps;
    } else {
      position = Math.min(scene.steps, position + (now - before) / scene.play_ms * Number($("speed").value));
    }
    before = now;
    show();
    if (!scene.live && position >= scene.steps) play(false);
    else requestAnimationFrame(tick);
  };
  let speedChosen = false;
  const slowMotion = () => {  // the highest speed, at most 1, at which the recording takes long enough to watch
    const ms = scene.steps * scene.play_ms;
    const speeds = [...$("speed").options].map((option) => option.value).filter((speed) => Number(speed) <= 1);
    if (scene.live || ms >= SHORT_MS) return "1";
    return speeds.reverse().find((speed) => ms / Number(speed) >= SHORT_MS) || speeds[speeds.length - 1];
  };
  const choose = (index, start) => {
    scene = unpack(data.scenes[index]);
    position = 0;
    prepare();
    if (!speedChosen) $("speed").value = slowMotion();
    document.querySelectorAll(".gallery button").forEach((card, i) => card.setAttribute("aria-current", String(i === index)));
    if (start) play(true); else { play(false); show(); }
  };

  // ---- gallery

  const thumbnails = () => {
    const box = $("gallery");
    if (!box) return;
    const waiting = [];
    data.scenes.forEach((each, index) => {
      const card = element("button");
      const canvas = element("canvas"), wrong = each.truth !== null && each.truth !== name(each.chosen);
      card.type = "button";
      canvas.width = each.on_grid ? each.width : 120;
      canvas.height = each.on_grid ? each.height : 120;
      const what = element("span", `what${wrong ? " wrong" : ""}`,
        `${name(each.chosen)} · ${(100 * each.confidence).toFixed(0)} %${wrong ? ` · truth ${each.truth}` : ""}`);
      const file = each.name.slice(each.name.lastIndexOf("/") + 1);
      const who = element("span", "who", each.members ? `${listed(each.members)} · ${file}` : file);
      who.title = each.name;
      card.append(canvas, what, who);
      card.addEventListener("click", () => {
        choose(index, true);
        history.replaceState(null, "", `#${index + 1}`);
        $("watch").scrollIntoView({ block: "start" });
      });
      box.append(card);
      waiting.push(() => {
        const old = scene;
        scene = unpack(each);
        if (scene.unusual[scene.unusual.length - 1]) card.append(element("span", "who wrong", UNLIKE));
        const draw = canvas.getContext("2d");
        if (scene.on_grid) draw.putImageData(image(busiest()), 0, 0);
        else raster(draw, scene.height, scene.spikes, 120, 120, `rgb(${ON})`);
        scene = old;
      });
    });
    const next = () => {
      const until = performance.now() + 12;
      while (waiting.length && performance.now() < until) waiting.shift()();
      if (waiting.length) setTimeout(next, 0);
      else document.documentElement.dataset.drawn = "yes";
    };
    next();
  };

  // ---- a live stream: the server sends events (see live.py)

  const showNothing = (before) => {
    $("answer").textContent = "nothing in sight";
    $("answer").style.color = "";
    $("sure").textContent = before || "waiting for events";
  };

  const listen = () => {
    const source = new EventSource(data.live);
    const light = (on, words) => { $("light").classList.toggle("on", on); $("light-words").textContent = words; };
    source.addEventListener("begin", (event) => {
      const head = JSON.parse(event.data);
      data.scenes[0] = { ...head, live: true, ready: true, steps: 0, begin: 0, ends: [], spikes: [], hidden: [], answers: [],
        confidences: [], unusual: [], spent: [], p: [], stopped: null, members: null };
      choose(0, true);
      light(true, "live");
    });
    source.addEventListener("step", (event) => {
      if (!scene) return;
      const step = JSON.parse(event.data), live = data.scenes[0];
      if (!live.ends.length) live.begin = step.step - 1;  // a browser that connects late misses the first steps
      live.steps = step.step;
      live.ends.push(step.step);
      live.spikes.push(step.spikes);
      live.hidden.push(step.hidden);
      live.answers.push(step.answer);
      live.confidences.push(step.confidence);
      live.unusual.push(step.unusual);
      live.spent.push((live.spent[live.spent.length - 1] || 0) + step.hidden_spikes);
      live.p.push(live.shown.map((index) => step.probabilities[index]));
      if (live.promise && step.members) {
        data.classes.forEach((_, c) => {
          if (!live.promise.left[c] && !step.members.includes(c)) live.promise.left[c] = step.step;
        });
      }
      if (step.stop && live.stopped === null) live.stopped = step.step;
      live.members = step.members;
      if (live.ends.length > 2 * KEPT) {
        for (const kept of [live.ends, live.spikes, live.hidden, live.answers, live.confidences, live.unusual, live.spent, live.p]) {
          kept.splice(0, KEPT);
        }
        live.begin = live.ends[0] - 1;
      }
      $("scrub").min = live.begin || 0;
      $("scrub").max = live.steps;
    });
    source.addEventListener("nothing", () => {
      light(true, "live, nothing in sight");
      if (!scene) return showNothing("");
      data.scenes[0].nothing = true;
      seek(scene.steps);
    });
    source.addEventListener("end", () => {
      light(false, "the stream has ended");
      source.close();
      if (!scene) return;
      play(false);
      seek(scene.steps);
    });
    source.onerror = () => light(false, "no connection");
  };

  // ---- controls

  $("play").addEventListener("click", () => play(!playing));
  $("scrub").addEventListener("input", () => { play(false); seek(Number($("scrub").value)); });
  $("to-stop").addEventListener("click", () => { play(false); seek(scene.stopped); });
  $("speed").addEventListener("change", () => { speedChosen = true; });
  document.addEventListener("keydown", (event) => {
    if (!scene || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const onButton = event.target.tagName === "BUTTON", onScrub = event.target.id === "scrub";
    if (event.key === " " && !onButton) { event.preventDefault(); play(!playing); }
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by && !onScrub) {
      play(false);
      const frame = frameAt(position) + by;
      seek(frame < 0 ? 0 : scene.ends[Math.min(frame, scene.ends.length - 1)]);
    }
    if (event.key === "Home") { play(false); seek(0); }
    if (event.key === "End") { play(false); seek(scene.steps); }
  });
  const again = () => { layers = {}; if (scene) show(); };
  window.addEventListener("resize", again);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  if (data.live) {
    listen();
  } else {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const linked = () => {
      const wanted = Number(location.hash.slice(1)) - 1;
      choose(data.scenes[wanted] ? wanted : 0, !still);
    };
    window.addEventListener("hashchange", linked);
    thumbnails();
    linked();
  }
  window.player = {  // for tests
    seek: (steps) => { play(false); seek(steps); },
    get position() { return position; },
    get playing() { return playing; },
    get scene() { return scene; },
  };
})();
