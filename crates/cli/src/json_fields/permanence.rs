//! The JSON fields of the verbs about permanence: `audit`, `seal`, `verify`, `rebuild`, `housekeeping`, `train`, `gc`,
//! `purge` and `doctor`.

use super::{JsonField, JsonObject, JsonVerb};

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb {
        verb: "audit",
        objects: &[
            JsonObject {
                when: "For each finding",
                fields: &[
                    ("kind", "string", "the kind of finding"),
                    ("severity", "string", "`error`, `warning` or `note`"),
                    ("silo", "number or null", "the number of the silo"),
                    (
                        "offset",
                        "number or null",
                        "the offset in the silo, or in the file that the message names",
                    ),
                    ("id", "string or null", "the id of the record"),
                    ("url", "string or null", "the URL of the record"),
                    ("message", "string", "the finding, in a sentence"),
                ],
            },
            JsonObject {
                when: "At the end",
                fields: &[
                    ("summary", "object", "what was audited"),
                    ("summary.records", "number", "records"),
                    ("summary.bytes", "number", "bytes"),
                    ("summary.findings", "number", "findings"),
                    ("summary.silos", "number, optional", "silos"),
                    ("summary.silos_left_out", "number, optional", "silos that a sample left out"),
                    ("summary.entries", "number, optional", "index entries"),
                    ("summary.versions", "number, optional", "versions"),
                    ("summary.bodies", "number, optional", "bodies"),
                    ("summary.files", "number, optional", "files of a web archive"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "seal",
        objects: &[
            JsonObject {
                when: "One object",
                fields: &[
                    ("size", "number", "versions in the log"),
                    ("sealed", "number", "versions that became a part of it now"),
                    ("checkpoint", "string", "the signed checkpoint, with its line feeds"),
                    ("keys", "array of string", "the public keys of its signatures"),
                ],
            },
            JsonObject {
                when: "With `--timestamp`",
                fields: &[
                    ("size", "number", "versions in the log when the checkpoint was signed"),
                    ("time", "string", "when the authority saw the checkpoint"),
                    ("authority", "string", "the name in its certificate"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "seal make-key",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("file", "string", "the file with the private key"),
                ("public_key", "string", "the public key"),
            ],
        }],
    },
    JsonVerb {
        verb: "verify",
        objects: &[
            JsonObject {
                when: "For each finding",
                fields: &[
                    ("file", "string, optional", "the file, if files were given"),
                    (
                        "kind",
                        "string",
                        "`version-missing`, `leaf-missing`, `leaves`, `checkpoint`, `signature`, `timestamp`, `file` or `record`",
                    ),
                    ("message", "string", "the finding, in a sentence"),
                ],
            },
            JsonObject {
                when: "At the end, for the archive or for each file",
                fields: &[
                    ("summary", "object", "what was verified"),
                    ("summary.file", "string, optional", "the file"),
                    ("summary.leaves", "number", "versions in the log"),
                    ("summary.origin", "string", "the name of the log"),
                    ("summary.versions", "number", "versions that were checked"),
                    ("summary.captures", "number", "captures in a file that are those of the versions"),
                    ("summary.checkpoints", "number", "checkpoints of the archive"),
                    ("summary.unsealed", "number", "versions of the archive that are not sealed"),
                    (
                        "summary.timestamps",
                        "array of object",
                        "timestamps that hold: `size`, `time`, `authority`",
                    ),
                    ("summary.findings", "number", "findings"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "rebuild",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("silos", "number", "silos that were read"),
                ("records", "number", "records in them"),
                ("entries", "number", "index entries that were made"),
                ("findings", "number", "places in the silos that are damaged"),
                ("lost", "array of string", "what was lost with them"),
                ("wrong_silos", "array of string", "silos that are not what the chain of digests says"),
                ("left_out", "array of string", "what could not be brought back"),
                ("set_aside", "string or null", "the old catalog, if it was kept"),
            ],
        }],
    },
    JsonVerb {
        verb: "housekeeping",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("merged", "number", "index entries that were merged"),
                ("written", "number", "index files that were written"),
                ("removed", "number", "index files that were removed"),
            ],
        }],
    },
    JsonVerb {
        verb: "train",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("samples", "number", "sampled records"),
                ("bytes", "number", "their bytes"),
                ("pages", "number", "pages in the dictionary"),
                ("size", "number", "the size of the dictionary in bytes"),
                ("packed", "number", "its compressed size in each silo, in bytes"),
            ],
        }],
    },
    JsonVerb {
        verb: "gc",
        objects: &[
            JsonObject {
                when: "For each action",
                fields: &[
                    (
                        "action",
                        "string",
                        "`accept_lost`, `make_diff`, `forget_version`, `prune_diffs` or `remove_body`",
                    ),
                    ("version", "string, optional", "the version"),
                    ("child", "string, optional", "its child (`accept_lost`)"),
                    ("base", "string or null, optional", "the older version (`make_diff`)"),
                    ("head", "string, optional", "the newer version (`make_diff`)"),
                    ("message", "string, optional", "the message of the version"),
                    ("time", "string, optional", "when it was made"),
                    ("captures", "number, optional", "the number of its captures"),
                    ("diffs", "number, optional", "stored diffs that are removed with it"),
                    (
                        "before",
                        "string or null, optional",
                        "diffs made before this time are removed (`prune_diffs`)",
                    ),
                    ("count", "number, optional", "how many (`prune_diffs`)"),
                    ("body", "string or null, optional", "the id of the body (`remove_body`)"),
                    ("path", "string, optional", "its file"),
                    ("length", "number, optional", "its length in bytes"),
                ],
            },
            JsonObject {
                when: "At the end",
                fields: &[
                    ("summary", "object", "what was removed"),
                    ("summary.versions", "number", "versions"),
                    ("summary.diffs", "number", "stored diffs"),
                    ("summary.made", "number", "diffs that were made in their place"),
                    ("summary.bodies", "number", "bodies"),
                    ("summary.bytes", "number", "their bytes"),
                    ("summary.kept", "number", "versions that stay"),
                    ("summary.young", "number", "bodies that are too young to be removed"),
                    ("summary.dry_run", "bool", "whether nothing was removed"),
                    ("summary.too_soon", "object, optional", "why nothing was done"),
                    ("summary.too_soon.done", "string", "when the last gc was"),
                    ("summary.too_soon.again", "string", "when the next may run"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "purge",
        objects: &[
            JsonObject {
                when: "For each removed record or page",
                fields: &[
                    ("record", "string", "its id"),
                    ("kind", "string", "its type"),
                    ("url", "string or null", "its URL"),
                    ("digest", "string or null", "the digest of its content"),
                    ("version", "string or null", "its version"),
                    ("replaced_by", "string or null", "the record that has its content now"),
                ],
            },
            JsonObject {
                when: "At the end",
                fields: &[
                    ("summary", "object", "what was removed"),
                    ("summary.records", "number", "records"),
                    ("summary.pages", "number", "pages whose bodies are still referenced"),
                    ("summary.kept", "number, optional", "records that were copied"),
                    ("summary.promoted", "number, optional", "revisits that became full records"),
                    ("summary.bytes_before", "number, optional", "bytes of the silos before"),
                    ("summary.bytes_after", "number, optional", "bytes of the silos after"),
                    ("summary.who", "string or null, optional", "who removed it"),
                    ("summary.why", "string, optional", "the reason"),
                    ("summary.time", "string or null, optional", "when"),
                    ("summary.dictionary", "string or null, optional", "what became of the dictionary"),
                    ("summary.dry_run", "bool", "whether nothing was removed"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "doctor",
        objects: &[
            JsonObject {
                when: "For each file",
                fields: &[
                    ("file", "string", "the file"),
                    ("format", "string or null", "its format"),
                    ("packing", "string, optional", "its compression"),
                    ("records", "number", "its records"),
                    ("by_type", "map", "the number of records by type"),
                    ("by_version", "map, optional", "the number of records by version of the format"),
                    ("findings", "array of object", "what is wrong"),
                    ("findings[].rule", "string", "the rule; see `varve doctor --rules`"),
                    ("findings[].offset", "number", "the offset in the file"),
                    ("findings[].severity", "string", "`error`, `warning` or `notice`"),
                    ("findings[].message", "string", "the finding, in a sentence"),
                    ("findings[].clause", "string", "the clause of the standard"),
                    ("findings_total", "number, optional", "all findings, listed or not"),
                    ("digests", "object", "the verified digests"),
                    ("digests.ok", "number", "right"),
                    ("digests.bad", "number", "wrong"),
                    ("digests.unchecked", "number", "of an unknown algorithm"),
                    ("last_good_offset", "number", "the end of the last good record"),
                    ("size", "number, optional", "the size of the file in bytes"),
                    (
                        "signature",
                        "object or null, optional",
                        "of a WACZ file: its signature, if it is right",
                    ),
                    ("signature.key", "string, optional", "the key that signed, in base64"),
                    ("signature.domain", "string, optional", "the domain that signed"),
                    ("signature.created", "string", "when, as the package says"),
                    ("repaired", "object, optional", "the repaired file"),
                    ("repaired.file", "string", "its path"),
                    ("repaired.records", "number", "its records"),
                    ("repaired.mended", "number", "records that were mended"),
                    ("repaired.gaps", "number", "places that were left out"),
                    ("error", "string, optional", "why the file cannot be read"),
                ],
            },
            JsonObject { when: "With `--rules`, for each rule", fields: RULE_FIELDS },
        ],
    },
];

const RULE_FIELDS: &[JsonField] = &[
    ("rule", "string", "the rule"),
    ("severity", "string", "`error`, `warning` or `notice`"),
    ("clause", "string", "the clause of the standard"),
    ("text", "string", "what it says"),
];
