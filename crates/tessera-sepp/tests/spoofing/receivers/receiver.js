// Reads messages as network functions in JavaScript do, and prints what it finds (see mod.rs).
//
// JSON.parse keeps the last of several members with one name; URL is the WHATWG's; bytes become text by the charset of
// the content type or by a byte order mark, as body-parser does it; codes are put together as whatever they are.
"use strict";

const readline = require("node:readline");

const names = new Set();
const lines = [];
let message = "";

function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const url = (reference, base) => attempt(() => new URL(reference, base));
const BASE = "http://base.invalid/";

function found(place, kind, value) {
  for (const name of place) {
    if (names.has(name)) lines.push(`${message} ${name} ${kind} ${encodeURIComponent(value).toLowerCase().replaceAll("%3a", ":")}`);
  }
}

function network(place, mcc, mnc) {
  if (/^\d{3}-\d{2,3}$/.test(`${mcc}-${mnc}`)) found(place, "network", `${mcc}-${`${mnc}`.padStart(3, "0")}`);
}

function text(place, text) {
  const codes = /^(\d{3})-?(\d{2,3})(-[\da-f]+)?$/i.exec(text);
  if (codes) network(place, codes[1], codes[2]);
  for (const [, mnc, mcc] of text.matchAll(/mnc(\d{3})\.mcc(\d{3})/gi)) network(place, mcc, mnc);
  const subscriber = /^(imsi-|suci-0-|5g-guti-)(.*)/i.exec(text);
  if (subscriber) found(place, "subscriber", subscriber[2].replaceAll("-", ""));
  // The claims of a token.
  if (text.includes(".")) for (const part of text.split(".")) json(place, Buffer.from(part, "base64url").toString());
  // With a scheme put in front where one is missing, as many programs do.
  for (const target of [url(text), url(text, BASE), url(`http://${text}`)].filter(Boolean)) {
    const host = target.hostname.replace(/^\[(.*)\]$/, "$1");
    if (host && host !== "base.invalid") found(place, "host", host);
    if (!/^https?:$/.test(target.protocol)) found(place, "host", target.protocol);
  }
}

function walk(place, value) {
  if (typeof value === "string") return text(place, value);
  if (Array.isArray(value)) return value.forEach((item) => walk(place, item));
  if (value === null || typeof value !== "object") return;
  const members = Object.entries(value);
  const all = (wanted) => members.filter(([name]) => name.toLowerCase() === wanted).map(([, inner]) => inner);
  for (const mcc of all("mcc")) for (const mnc of all("mnc")) network(place, mcc, mnc);
  for (const [name, inner] of members) {
    // What a patch or a report of changes puts somewhere has the name of its place.
    const isPlaced = /value$/i.test(name) && typeof value.path === "string";
    walk(isPlaced ? [...place, name, ...value.path.split("/")] : [...place, name], inner);
  }
}

function parsed(text) {
  return attempt(() => JSON.parse(text));
}

function json(place, text, resource) {
  const value = parsed(text);
  walk(place, value);
  if (Array.isArray(value) && resource !== undefined) walk(place, patched(structuredClone(resource), value));
}

// RFC 6902 on members and items of lists.
function patched(resource, operations) {
  const root = { "": resource };
  const reach = (pointer) => {
    const tokens = pointer.split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = tokens.pop();
    return [tokens.reduce((around, token) => around?.[token], root), last];
  };
  for (const { op, path, from, value } of operations.filter((operation) => typeof operation?.path === "string")) {
    let moved = value;
    if (typeof from === "string") {
      const [around, last] = reach(from);
      moved = structuredClone(around?.[last]);
      if (/^move$/i.test(op) && around) delete around[last];
    }
    const [around, last] = reach(path);
    if (moved === undefined || around === null || typeof around !== "object") continue;
    if (Array.isArray(around)) around.splice(/^\d+$/.test(last) ? Number(last) : around.length, op === "replace" ? 1 : 0, moved);
    else around[last] = moved;
  }
  return root[""];
}

function parameter(place, value) {
  json(place, value);
  text(place, value);
  value.split(/[ \t,;"'<>()=]+/).forEach((item) => text(place, item));
}

function decoded(text) {
  return attempt(() => decodeURIComponent(text)) ?? text;
}

function twice(place, value) {
  parameter(place, value);
  if (decoded(value) !== value) parameter(place, decoded(value));
}

function path(text) {
  const target = url(text, BASE);
  if (!target) return;
  for (const segment of target.pathname.split("/")) twice(["path"], decoded(segment));
  for (const [name, value] of target.searchParams) twice([name], value);
}

function header(name, value) {
  const place = [name.replaceAll("_", "-")];
  twice(place, value);
}

// The text of bytes.
function charset(contentType, bytes) {
  const marks = [[0xff, 0xfe, "utf-16le"], [0xfe, 0xff, "utf-16be"]];
  const marked = marks.find(([first, second]) => bytes[0] === first && bytes[1] === second)?.[2];
  const claimed = /charset="?([\w-]+)/i.exec(contentType)?.[1];
  const readings = [claimed, marked, "utf-8"].map((label) => attempt(() => new TextDecoder(label ?? "").decode(bytes)));
  return readings.find((text) => text !== undefined);
}

function body(contentType, bytes, resource) {
  const content = charset(contentType, bytes);
  const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1];
  if (/^multipart\//i.test(contentType) && boundary) {
    for (const part of content.split(new RegExp(`(?:^|\\r?\\n)--${boundary.replace(/[^\w]/g, "\\$&")}[^\\n]*\\n`))) {
      const [, inner] = /^(?:[^\n]*\S[^\n]*\n)*\r?\n([^]*)$/.exec(part) ?? [];
      json([], inner ?? "");
    }
  }
  json([], content, resource);
  // Where tokens are given, whatever its type.
  for (const [name, value] of new URLSearchParams(content)) twice([name], value);
}

process.stderr.write("begins\n");
let contentType = "";
let resource;
const input = readline.createInterface({ input: process.stdin });
input.on("line", (line) => {
  const [word, ...rest] = line.split(" ");
  const bytes = rest.map((hex) => Buffer.from(hex, "hex"));
  if (word === "name") names.add(rest[0]);
  if (word === "message") [message, contentType, resource] = [rest[0], "", undefined];
  if (word === "path") path(bytes[0].toString("latin1"));
  if (word === "resource") resource = parsed(bytes[0].toString());
  if (word === "header") {
    const [name, value] = bytes.map((bytes) => bytes.toString("latin1"));
    if (name === "content-type") contentType = value;
    header(name, value);
  }
  if (word === "body") body(contentType, bytes[0], resource);
});
input.on("close", () => process.stdout.write(`${lines.join("\n")}\n`));
