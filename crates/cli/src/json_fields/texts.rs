//! The JSON fields of the verbs about the texts of pages: `search` and `blame`.

use super::{JsonObject, JsonVerb};

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb {
        verb: "search",
        objects: &[JsonObject {
            when: "For each hit, the best first",
            fields: &[
                ("url", "string", "the URL"),
                ("title", "string or null", "the title of the page"),
                ("type", "string", "the kind of content, such as `page`"),
                ("time", "string", "when the text was captured"),
                ("version", "string or null", "the version; null if its run has become none"),
                ("body", "string", "the id of the body"),
                ("snippet", "string or null", "the text around the words; null if only title or URL match"),
                ("marks", "array of pair", "the first byte and the end of each word in the snippet"),
                ("score", "number", "how well the text fits; only the order has a meaning"),
                ("first_seen", "object, optional", "with `--ever`, the first capture that matches"),
                ("first_seen.version", "string or null", "its version"),
                ("first_seen.time", "string", "when it was captured"),
                ("last_seen", "object, optional", "with `--ever`, the last capture that matches"),
                ("last_seen.version", "string or null", "its version"),
                ("last_seen.time", "string", "when it was captured"),
                ("current", "bool, optional", "with `--ever`, whether it matches now"),
                ("changes", "array of object, optional", "with `--ever`, each time it appeared or vanished"),
                ("changes[].event", "string", "`appeared` or `vanished`"),
                ("changes[].version", "string or null", "the version that brought it"),
                ("changes[].time", "string", "when that was captured"),
            ],
        }],
    },
    JsonVerb {
        verb: "blame",
        objects: &[JsonObject {
            when: "For each passage or line, in order",
            fields: &[
                ("version", "string or null", "the version that brought it; null if its run has become none"),
                ("time", "string", "when that was captured"),
                ("author", "string or null", "the author of the version"),
                ("type", "string", "what it is, such as `title`, `heading` or `text`"),
                ("text", "string", "the text"),
            ],
        }],
    },
];
