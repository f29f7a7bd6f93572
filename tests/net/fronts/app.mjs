// SPDX-License-Identifier: MIT
// An application that asks weir by itself: node app.mjs. Its limit is an account's. While weir is
// down or slow a request passes ("allowed: false" would refuse it); a question that weir refuses
// is a fault of ours, and answered 500.
import { createServer } from "node:http";

const UNASKED = { allowed: true, fields: {} };

async function ask(zone, key) {
  const [status, text] = await fetch("http://127.0.0.1:8090/app", {
    method: "POST",
    body: JSON.stringify({ zones: [zone], key }),
    signal: AbortSignal.timeout(250),
  })
    .then(async (answer) => [answer.status, await answer.text()])
    .catch(() => [503]);
  if (status >= 500) return UNASKED;
  if (status !== 200) throw new Error(`weir answers ${status}: ${text}`);
  return JSON.parse(text);
}

async function serve(request, response) {
  const decision = await ask("account", request.headers["x-account"] || "nobody");
  response.writeHead(decision.allowed ? 200 : 429, decision.fields);
  response.end(decision.allowed ? "hello\n" : "too many requests\n");
}

createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error.message);
    response.writeHead(500).end();
  });
}).listen(8083, "127.0.0.1");
