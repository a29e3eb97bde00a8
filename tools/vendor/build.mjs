// npm ci && npm run build: writes _assets/vendor, the only generated files that the book commits.
import { build } from "esbuild";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");
const target = join(here, "..", "..", "_assets", "vendor");

// anywidget ships as an AMD module for notebooks; here its factory is imported.
const anywidgetAsModule = {
  name: "anywidget-as-module",
  setup(b) {
    b.onLoad({ filter: /anywidget\/dist\/index\.js$/ }, async ({ path }) => {
      const amd = /define\(\["@jupyter-widgets\/base"\],\s*(\w+)\);/;
      const text = await readFile(path, "utf8");
      if (!amd.test(text)) throw new Error("anywidget no longer ends in the define() that is rewritten here");
      return { contents: text.replace(amd, "export default $1;"), loader: "js" };
    });
  },
};

// Labels ask MathJax 2 to typeset them; the book serves MathJax 3.
const mathjax3 = {
  name: "mathjax-3",
  setup(b) {
    b.onLoad({ filter: /controls\/lib\/utils\.js$/ }, async ({ path }) => {
      const old = "MathJax.Hub.Queue(['Typeset', MathJax.Hub, element]);";
      const text = await readFile(path, "utf8");
      if (!text.includes(old)) throw new Error("ipywidgets no longer has the call to MathJax 2 that is rewritten here");
      return { contents: text.replace(old, "MathJax.typesetPromise?.([element]);"), loader: "js" };
    });
  },
};

// Descriptions of sliders are plain text here, so the 200 kB HTML sanitiser is not needed.
const plainText = {
  name: "plain-text-descriptions",
  setup(b) {
    b.onResolve({ filter: /^sanitize-html$/ }, () => ({ path: "plain-text", namespace: "plain" }));
    b.onLoad({ filter: /.*/, namespace: "plain" }, () => ({
      contents: `export default (text) => { const node = document.createElement("span");
        node.textContent = new DOMParser().parseFromString(text, "text/html").body.textContent;
        return node.innerHTML; };`,
    }));
  },
};

// The controls' style sheets, their imports resolved, as one minified string.
const styles = {
  name: "widget-styles",
  setup(b) {
    b.onResolve({ filter: /^widget-styles$/ }, () => ({ path: "styles", namespace: "styles" }));
    b.onLoad({ filter: /.*/, namespace: "styles" }, async () => {
      const css = ["labvariables.css", "widgets-base.css"].map((f) => `@import "@jupyter-widgets/controls/css/${f}";`);
      const { outputFiles } = await build({
        stdin: { contents: css.join("\n"), loader: "css", resolveDir: here },
        bundle: true, minify: true, write: false, legalComments: "none",
      });
      return { contents: outputFiles[0].text, loader: "text" };
    });
  },
};

async function widgets() {
  const result = await build({
    entryPoints: [join(here, "widgets-static.js")],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none", // they are gathered in LICENSES.txt
    loader: { ".svg": "empty" },
    define: { global: "window", "process.env.NODE_ENV": '"production"' },
    plugins: [anywidgetAsModule, mathjax3, plainText, styles],
    metafile: true,
    outfile: join(target, "widgets-static.js"),
  });
  return Object.keys(result.metafile.inputs);
}

// The folder of the package that a bundled file belongs to.
function packageOf(path) {
  const parts = path.split("node_modules/").at(-1).split("/");
  return parts[0].startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
}

async function licences(inputs) {
  const names = [...new Set(inputs.filter((p) => p.includes("node_modules/")).map(packageOf))].sort();
  const texts = ["Software inside widgets-static.js, each with its licence.\n"];
  for (const name of names) {
    const folder = join(modules, name);
    const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((f) => /^(licen[cs]e|copying)/i.test(f));
    texts.push("=".repeat(78), `${name} ${about.version} (${about.license ?? "see below"})`, "");
    texts.push(file ? (await readFile(join(folder, file), "utf8")).trim() : "(no licence file in the package)", "");
  }
  await writeFile(join(target, "LICENSES.txt"), texts.join("\n"));
}

async function mathjax() {
  const from = join(modules, "mathjax");
  const to = join(target, "mathjax");
  await cp(join(from, "es5", "tex-mml-chtml.js"), join(to, "tex-mml-chtml.js"));
  await cp(join(from, "es5", "output", "chtml", "fonts", "woff-v2"), join(to, "output", "chtml", "fonts", "woff-v2"), {
    recursive: true,
  });
  await cp(join(from, "LICENSE"), join(to, "LICENSE"));
}

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
await licences(await widgets());
await mathjax();
