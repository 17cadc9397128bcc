// Bundles entry.js into ../static/vendor.js, and the licences of all that is in it into ../static/vendor.LICENSES.txt.
import { build } from "esbuild";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const result = await build({
  entryPoints: ["entry.js"],
  outfile: "../static/vendor.js",
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2020",
  legalComments: "none",
  metafile: true,
  banner: { js: "/* Third-party code; licences in vendor.LICENSES.txt; made by build.mjs */" },
});

const packages = new Map();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.set(found[1], join("node_modules", found[1]));
}
const parts = [...packages].sort().map(([name, folder]) => {
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file || !existsSync(join(folder, file))) throw new Error(`${name} ships no licence text`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
const line = "=".repeat(80);
writeFileSync(
  "../static/vendor.LICENSES.txt",
  `vendor.js holds these packages from npm:\n\n${parts.map((part) => `${line}\n${part}`).join("\n")}`,
);
