// SPDX-License-Identifier: MIT
// A gRPC server and client for the tests.
//
//   grpc.mjs serve PORT SERVICE...        prints "ready"; each service echoes by its four methods
//   grpc.mjs call PORT [--retry N] CALL...
//
// A CALL is SERVICE/METHOD, METHOD one of one, download, upload and both, or open, which is both
// without an end to what is sent; "*COUNT" may follow: so many, one after the other. All calls are on
// one connection. upload and both send MESSAGES of MESSAGE_BYTES. Prints a line of JSON for each:
// code, details, metadata, how many messages came back, and when it began and ended, in ms.
// --retry: the client's own retries, N attempts at most, by a service config that would wait next to
// nothing.
import { createRequire } from "node:module";

const grpc = createRequire(new URL("../../build/npm/", import.meta.url))("@grpc/grpc-js");

const MESSAGES = 32;
const MESSAGE_BYTES = 65536;
const CALL_SECONDS_MAX = 20;

const bytes = (buffer) => buffer;
const method = (service, name, requestStream, responseStream) => ({
	path: `/${service}/${name}`,
	requestStream,
	responseStream,
	requestSerialize: bytes,
	requestDeserialize: bytes,
	responseSerialize: bytes,
	responseDeserialize: bytes,
});

const definition = (service) => ({
	one: method(service, "one", false, false),
	download: method(service, "download", false, true),
	upload: method(service, "upload", true, false),
	both: method(service, "both", true, true),
});

const echo = {
	one: (call, reply) => reply(null, call.request),
	download(call) {
		for (let i = 0; i < MESSAGES; i++) call.write(call.request);
		call.end();
	},
	upload(call, reply) {
		let count = 0;

		call.on("data", () => count++);
		call.on("end", () => reply(null, Buffer.from(`${count}`)));
	},
	both(call) {
		call.on("data", (message) => call.write(message));
		call.on("end", () => call.end());
	},
};

function serve(port, services) {
	const server = new grpc.Server();

	for (const service of services) server.addService(definition(service), echo);
	server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(), (error) => {
		if (error) throw error;
		console.log("ready");
	});
}

const retries = (attempts) => ({
	"grpc.service_config": JSON.stringify({
		methodConfig: [
			{
				name: [{}],
				retryPolicy: {
					maxAttempts: attempts,
					initialBackoff: "0.001s",
					maxBackoff: "0.001s",
					backoffMultiplier: 1,
					retryableStatusCodes: ["RESOURCE_EXHAUSTED"],
				},
			},
		],
	}),
});

function send(stream) {
	for (let i = 0; i < MESSAGES; i++) stream.write(Buffer.alloc(MESSAGE_BYTES));
	return stream;
}

function begin(client, service, name, done) {
	const { [name === "open" ? "both" : name]: shape } = definition(service);
	const options = { deadline: Date.now() + CALL_SECONDS_MAX * 1000 };
	const method = [shape.path, bytes, bytes];
	const hello = Buffer.from("hello");

	switch (name) {
	case "one":
		return client.makeUnaryRequest(...method, hello, options, done);
	case "download":
		return client.makeServerStreamRequest(...method, hello, options);
	case "upload":
		return send(client.makeClientStreamRequest(...method, options, done)).end();
	case "both":
		return send(client.makeBidiStreamRequest(...method, options)).end();
	case "open":
		return send(client.makeBidiStreamRequest(...method, options));
	}
}

function call(client, service, name) {
	return new Promise((resolve) => {
		const began_ms = performance.now();
		let messages = 0;
		const stream = begin(client, service, name, (error) => (messages += error ? 0 : 1));

		stream.on("data", () => messages++);
		stream.on("error", () => {}); // the status says it
		stream.on("status", ({ code, details, metadata }) =>
			resolve({
				code,
				details,
				metadata: metadata.getMap(),
				messages,
				began_ms,
				ended_ms: performance.now(),
			}),
		);
	});
}

async function callAll(port, words) {
	const options = words[0] === "--retry" ? retries(Number(words.splice(0, 2)[1])) : {};
	const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options);

	for (const word of words) {
		const [, service, name, count] = /^([^/]+)\/([a-z]+)(?:\*([0-9]+))?$/.exec(word);

		for (let i = 0; i < Number(count ?? 1); i++)
			console.log(JSON.stringify(await call(client, service, name)));
	}
	client.close();
}

const [verb, port, ...words] = process.argv.slice(2);

if (verb === "serve") serve(port, words);
else await callAll(port, words);
