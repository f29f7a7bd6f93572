// SPDX-License-Identifier: MIT
// express-rate-limit in memory, on the port given: /allow never refuses, /refuse always but once an
// hour, /limited at 500 a second.
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../build/npm/", import.meta.url));
const express = require("express");
const { rateLimit } = require("express-rate-limit");

const app = express();
const fields = { standardHeaders: "draft-8", legacyHeaders: false };

app.disable("etag");
app.use("/plain", (request, response) => response.send("fine\n"));
app.use("/allow", rateLimit({ windowMs: 1000, limit: 1e9, ...fields }));
app.use("/refuse", rateLimit({ windowMs: 3600e3, limit: 1, ...fields }));
app.use("/limited", rateLimit({ windowMs: 1000, limit: 500, ...fields }));
app.use((request, response) => response.send("fine\n"));
app.listen(Number(process.argv[2]), "127.0.0.1");
