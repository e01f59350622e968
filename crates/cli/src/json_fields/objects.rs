//! The JSON fields of the verbs about objects and URLs: `store`, `get`, `stow`, `filter`, `explain`
//! and `key`, and about access tokens.

use super::{JsonObject, JsonVerb};

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb {
        verb: "store",
        objects: &[JsonObject {
            when: "For each file",
            fields: &[
                ("id", "string", "the id of the object"),
                ("new", "bool", "whether the archive did not have it"),
                ("mended", "bool", "whether it was damaged and has been written again"),
                ("length", "number", "its length in bytes"),
                ("file", "string", "the file, or `-`"),
            ],
        }],
    },
    JsonVerb {
        verb: "get",
        objects: &[
            JsonObject {
                when: "With `--headers`, one object",
                fields: &[
                    ("id", "string", "the id; in an AardWARC store with its prefix"),
                    ("length", "number or null", "the length in bytes; null for a body inside a response"),
                    ("header", "map", "the fields of the record's header, by name"),
                ],
            },
            JsonObject {
                when: "With `--tree`, one object",
                fields: &[
                    ("files", "number", "restored files"),
                    ("folders", "number", "restored folders"),
                    ("links", "number", "restored links"),
                    ("bytes", "number", "bytes of the files"),
                    ("failed", "number", "entries that could not be restored"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "stow",
        objects: &[JsonObject {
            when: "For each folder",
            fields: &[
                ("id", "string", "the id of the folder"),
                ("new", "bool", "whether the archive did not have this state of the folder"),
                ("files", "number", "files in it"),
                ("folders", "number", "folders in it"),
                ("links", "number", "links in it"),
                ("bytes", "number", "bytes of the files"),
                ("new_objects", "number", "files that the archive did not have"),
                ("new_bytes", "number", "their bytes"),
                ("mended", "number", "objects that were damaged and have been written again"),
                ("skipped", "number", "entries that are neither file, folder nor link"),
                ("failed", "number", "entries that could not be read"),
                ("changed", "number", "files that changed while they were read"),
            ],
        }],
    },
    JsonVerb {
        verb: "filter",
        objects: &[JsonObject {
            when: "For each id",
            fields: &[("id", "string", "the digits of the id"), ("here", "bool", "whether it is stored")],
        }],
    },
    JsonVerb {
        verb: "explain",
        objects: &[JsonObject {
            when: "For each URL",
            fields: &[
                ("url", "string", "the URL"),
                ("steps", "array of object", "the rules, in order"),
                ("steps[].rule", "string", "the name of the rule"),
                ("steps[].explanation", "string", "what it does"),
                ("steps[].before", "string or null", "the URL before it"),
                ("steps[].after", "string or null", "the URL after it"),
                ("steps[].changed", "bool", "whether it changed the URL"),
            ],
        }],
    },
    JsonVerb {
        verb: "key",
        objects: &[JsonObject {
            when: "For each URL",
            fields: &[
                ("url", "string", "the URL"),
                ("clean", "string", "the cleaned URL"),
                ("key", "string", "the lookup number of the URL, in decimal digits"),
                ("clean_key", "string", "the lookup number of the cleaned URL, in decimal digits"),
            ],
        }],
    },
    JsonVerb {
        verb: "token make-key",
        objects: &[JsonObject { when: "One object", fields: &[("key", "string", "the key, in base64")] }],
    },
    JsonVerb {
        verb: "token issue",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("token", "string", "the token"),
                ("claims", "object", "what it says"),
                ("claims.iss", "string", "who issued it"),
                ("claims.sub", "string", "who holds it"),
                ("claims.aud", "array of string", "who it is for"),
                ("claims.exp", "number", "when it expires, in seconds since 1970"),
                ("claims.iat", "number", "when it was issued, in seconds since 1970"),
            ],
        }],
    },
    JsonVerb {
        verb: "token show",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("valid", "bool", "whether it is valid, as far as it was verified"),
                ("signature_verified", "bool", "whether it was signed with the given key"),
                ("problem", "string or null", "why it is not valid"),
                ("claims", "map or null", "what it says, as in `token issue`; null if it cannot be read"),
            ],
        }],
    },
];
