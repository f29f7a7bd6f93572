// SPDX-License-Identifier: MIT
// A WebSocket server and client for the tests.
//
//   websocket.mjs serve PORT             prints "ready"; echoes
//   websocket.mjs talk PORT WORD...      one word after the other, a line of answer for each:
//     open:PATH     "open" and the RateLimit field, or the status and Retry-After of the refusal
//     echo:COUNT    on every socket that is open; how many messages came back, of all together
//     close         all of them; "closed" and how many were still open
import { createRequire } from "node:module";

const { WebSocket, WebSocketServer } = createRequire(new URL("../../build/npm/", import.meta.url))(
	"ws",
);

function serve(port) {
	const server = new WebSocketServer({ host: "127.0.0.1", port });

	server.on("connection", (socket) =>
		socket.on("message", (message) => socket.send(message)),
	);
	server.on("listening", () => console.log("ready"));
}

const sockets = [];

function open(url) {
	return new Promise((resolve, reject) => {
		const socket = new WebSocket(`ws:${url}`);
		let field;

		socket.on("upgrade", ({ headers }) => (field = headers.ratelimit));
		socket.on("open", () => {
			sockets.push(socket);
			resolve(`open ${field}`);
		});
		socket.on("unexpected-response", (request, response) => {
			request.destroy();
			resolve(`${response.statusCode} ${response.headers["retry-after"]}`);
		});
		socket.on("error", reject);
	});
}

// All are sent before the first comes back; whole and in order, or it is an error.
function echoOn(socket, count) {
	return new Promise((resolve, reject) => {
		let next = 0;

		if (socket.readyState !== WebSocket.OPEN) return resolve(0);
		const listen = (message) => {
			if (`${message}` !== `${next}`) reject(new Error(`${message} instead of ${next}`));
			if (++next < count) return;
			socket.off("message", listen);
			resolve(count);
		};
		socket.on("message", listen);
		for (let i = 0; i < count; i++) socket.send(`${i}`);
	});
}

async function echo(count) {
	const counts = await Promise.all(sockets.map((socket) => echoOn(socket, count)));

	return counts.reduce((sum, each) => sum + each, 0);
}

function close() {
	const opened = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN);

	for (const socket of opened) socket.close();
	return `closed ${opened.length}`;
}

async function say(origin, word) {
	const [verb, argument] = word.split(/:(.*)/);

	switch (verb) {
	case "open":
		return open(origin + argument);
	case "echo":
		return echo(Number(argument));
	case "close":
		return close();
	}
	throw new Error(`what is ${word}?`);
}

async function talk(port, words) {
	for (const word of words) console.log(await say(`//127.0.0.1:${port}`, word));
}

const [verb, port, ...words] = process.argv.slice(2);

if (verb === "serve") serve(Number(port));
else await talk(port, words);
