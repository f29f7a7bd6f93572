// SPDX-License-Identifier: MIT
// Reads header fields of responses, parted by empty lines, and checks RateLimit-Policy and RateLimit
// as their draft has them, by a parser of Structured Fields that is not ours. Prints what it read as
// one JSON document, or on stderr what is wrong, and then exits 1.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

// Installed beside the build, never in the tree.
const { parseList, serializeList } = createRequire(new URL("../../build/npm/", import.meta.url))(
	"structured-headers",
);

const INTEGER_MAX = 999_999_999_999_999;
const NAME = /^[a-z0-9_-]{1,31}$/;

function demand(holds, complaint) {
	if (!holds) throw new Error(complaint);
}

// Lines of one name are one list (RFC 9110 5.3). undefined where there is none.
function field(lines, name) {
	const prefix = `${name.toLowerCase()}:`;
	const values = lines
		.filter((line) => line.toLowerCase().startsWith(prefix))
		.map((line) => line.slice(prefix.length).trim());

	return values.length ? values.join(", ") : undefined;
}

function checkInteger(parameters, key, least) {
	const value = parameters.get(key);

	demand(Number.isInteger(value), `${key} is not an Integer`);
	demand(value >= least && value <= INTEGER_MAX, `${key} is ${value}`);
}

// [name, parameters] of each item; keys are those it must have, and optional those it may.
function items(value, keys, optional) {
	const list = parseList(value);

	demand(list.length > 0, "is empty");
	// A Decimal such as 1.0 parses to the same number, but is not written so.
	demand(serializeList(list) === value, `is not written as ${serializeList(list)}`);
	for (const [name, parameters] of list) {
		demand(typeof name === "string" && NAME.test(name), `names ${name}`);
		for (const key of keys) demand(parameters.has(key), `${name} lacks ${key}`);
		for (const key of parameters.keys())
			demand([...keys, ...optional].includes(key), `${name} has ${key}`);
	}
	const names = list.map(([name]) => name);
	demand(new Set(names).size === names.length, "names a policy twice");
	return list;
}

function policies(value) {
	const list = items(value, ["q", "w"], []);

	for (const [, parameters] of list) {
		checkInteger(parameters, "q", 1);
		checkInteger(parameters, "w", 1);
	}
	return list;
}

function limits(value) {
	const list = items(value, ["r"], ["t"]);

	for (const [, parameters] of list) {
		checkInteger(parameters, "r", 0);
		if (parameters.has("t")) checkInteger(parameters, "t", 1);
	}
	return list;
}

function inField(name, read, value) {
	try {
		return read(value);
	} catch (error) {
		throw new Error(`${name}: ${value}: ${error.message}`);
	}
}

function agree(policyList, limitList) {
	const names = (list) => list.map(([name]) => name).join(" ");

	demand(names(policyList) === names(limitList),
		`policies ${names(policyList)}, but limits ${names(limitList)}`);
	limitList.forEach(([name, parameters], i) => {
		demand(parameters.get("r") <= policyList[i][1].get("q"), `${name}: r is above q`);
	});
}

// The draft: not earlier than the end of an effective window in which nothing is left.
function checkRetryAfter(value, limitList) {
	demand(/^[1-9][0-9]*$/.test(value), `Retry-After: ${value}`);
	for (const [name, parameters] of limitList) {
		if (parameters.get("r") === 0 && parameters.has("t"))
			demand(Number(value) >= parameters.get("t"),
				`Retry-After: ${value} is before ${name} has anything`);
	}
}

function policy([name, parameters]) {
	return { name, ...Object.fromEntries(parameters) };
}

function response(lines) {
	const status = /^HTTP\/[0-9.]+ ([0-9]{3})/.exec(lines[0]);
	const policyField = field(lines, "RateLimit-Policy");
	const limitField = field(lines, "RateLimit");
	const retryAfter = field(lines, "Retry-After");
	const read = { status: status ? Number(status[1]) : null, policies: [], limits: [] };

	demand((policyField === undefined) === (limitField === undefined), "has one field of two");
	if (policyField !== undefined) {
		const policyList = inField("RateLimit-Policy", policies, policyField);
		const limitList = inField("RateLimit", limits, limitField);

		agree(policyList, limitList);
		if (retryAfter !== undefined) checkRetryAfter(retryAfter, limitList);
		read.policies = policyList.map(policy);
		read.limits = limitList.map(policy);
	}
	read.retry_after = retryAfter === undefined ? null : Number(retryAfter);
	return read;
}

try {
	const responses = readFileSync(0, "utf8")
		.replaceAll("\r", "")
		.split(/\n\n+/)
		.filter((text) => text.trim())
		.map((text) => response(text.split("\n").filter(Boolean)));

	console.log(JSON.stringify({ responses }));
} catch (error) {
	console.error(error.message);
	process.exitCode = 1;
}
