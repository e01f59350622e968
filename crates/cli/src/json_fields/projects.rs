//! The JSON fields of the verbs about other layouts: `import`, `export`, `crystal` and `moku`.

use super::{JsonObject, JsonVerb};

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb {
        verb: "import",
        objects: &[
            JsonObject {
                when: "For each AardWARC store",
                fields: &[
                    ("path", "string", "the store"),
                    ("objects", "number", "objects that were read"),
                    ("new", "number", "objects that the archive did not have"),
                    ("bytes", "number", "bytes of the objects"),
                    ("renumbered", "number", "objects whose id is another here"),
                    ("findings", "number", "damaged places in the store"),
                ],
            },
            JsonObject {
                when: "For each WARC or ARC file, also those in a WACZ file",
                fields: &[
                    ("path", "string", "the file"),
                    ("sha256", "string", "its SHA-256 in hex"),
                    ("already", "bool", "whether it was imported before, and not read again"),
                    ("versions", "array of string", "the versions made of it"),
                    ("records", "number", "records that were read"),
                    ("captures", "number", "captures among them"),
                    ("new", "number", "captures that the archive did not have"),
                    ("other", "number", "records that are no captures, and were kept beside them"),
                    ("bytes", "number", "bytes of the file"),
                    (
                        "with_user_info",
                        "number",
                        "records with a user name or a password in a URL, which are not imported",
                    ),
                    ("findings", "array of object", "damage, at most 1000 places"),
                    ("findings[].offset", "number", "the byte offset in the file"),
                    ("findings[].message", "string", "what is there"),
                    ("findings_total", "number", "the number of findings"),
                    ("error", "string, optional", "why it could not be read, in place of the others"),
                ],
            },
            JsonObject {
                when: "For each Crystal project",
                fields: &[
                    ("path", "string", "the project"),
                    ("version", "string or null", "the version with its revisions"),
                    ("already", "bool", "whether it was imported before"),
                    ("revisions", "number", "its revisions"),
                    ("new", "number", "revisions that the archive did not have"),
                    ("errors", "number", "revisions without a response"),
                    ("missing", "number", "revisions whose body is missing"),
                    ("cookies", "number", "revisions with a cookie"),
                    ("bytes", "number", "bytes of the bodies"),
                    ("left_behind", "number", "rows that could not be parsed"),
                    (
                        "with_user_info",
                        "number",
                        "rows with a user name or a password in a URL, which are not imported",
                    ),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "export",
        objects: &[
            JsonObject {
                when: "One object for a Crystal project",
                fields: &[
                    ("path", "string", "the project"),
                    ("version", "string or null", "the exported version"),
                    ("restored", "bool", "whether an imported project was restored"),
                    ("resources", "number", "its URLs"),
                    ("revisions", "number", "its revisions"),
                    ("left_behind", "array of object", "what the project cannot hold"),
                    ("left_behind[].what", "string", "the kind"),
                    ("left_behind[].count", "number", "how many"),
                ],
            },
            JsonObject {
                when: "One object for a WARC file",
                fields: &[
                    ("path", "string", "the file"),
                    ("records", "number", "its records"),
                    ("revisits", "number", "revisits among them"),
                    ("failures", "number", "revisions without a response"),
                    ("missing", "number", "revisions whose body is missing"),
                    ("left_behind", "number", "revisions with a URL that WARC cannot express"),
                    ("with_user_info", "number", "revisions with a user name or a password in the URL"),
                    ("bytes", "number", "the size of the file"),
                ],
            },
            JsonObject {
                when: "One object for an index",
                fields: &[
                    ("path", "string", "the file or folder"),
                    ("files", "number", "files that were indexed"),
                    ("lines", "number", "its lines"),
                    ("unaddressable", "number", "records that begin inside a compressed member"),
                    ("findings", "number", "damage in the files"),
                    ("bytes", "number", "the size of the index, or of its blocks"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "crystal info",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("path", "string", "the project"),
                ("major_version", "number", "the layout of bodies"),
                ("migration", "map or null", "an unfinished migration"),
                ("reading", "string", "how the project is read"),
                ("resources", "number", "URLs"),
                ("revisions", "number", "revisions"),
                ("error_revisions", "number", "revisions without a response"),
                ("roots", "number", "roots"),
                ("groups", "number", "groups"),
                ("aliases", "number", "aliases"),
                ("bodies", "number or null", "bodies; null if they were not counted"),
                (
                    "missing_bodies",
                    "number or null",
                    "revisions whose body is missing; null if they were not counted",
                ),
                ("bytes", "number or null", "bytes of the bodies; null if they were not counted"),
                ("database_bytes", "number", "the size of the database"),
                ("hibernated_tasks", "number", "tasks that Crystal resumes"),
                ("default_url_prefix", "string or null", "the default prefix of URLs"),
                ("group_members", "array of object", "the groups"),
                ("group_members[].id", "number", "the id of the group"),
                ("group_members[].name", "string", "its name"),
                ("group_members[].url_pattern", "string", "its pattern"),
                ("group_members[].do_not_download", "bool", "whether its members are not downloaded"),
                ("group_members[].members", "number", "its members"),
                ("group_members[].downloaded_members", "number", "members with a revision"),
            ],
        }],
    },
    JsonVerb {
        verb: "crystal migrate",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("from", "number", "the old major version"),
                ("to", "number", "the new major version"),
                ("moved", "number", "files that were moved"),
                ("unreadable", "number", "bodies that cannot be read"),
            ],
        }],
    },
    JsonVerb {
        verb: "crystal verify",
        objects: &[
            JsonObject {
                when: "For each finding",
                fields: &[
                    ("kind", "string", "the kind of finding"),
                    ("severity", "string", "`note`, `warning` or `damage`"),
                    ("message", "string", "the finding, in a sentence"),
                    ("revision", "number, optional", "the revision"),
                    ("resource", "number, optional", "the resource"),
                    ("root", "number, optional", "the root"),
                    ("group", "number, optional", "the group"),
                    ("alias", "number, optional", "the alias"),
                    ("id", "number, optional", "the row"),
                    ("table", "string, optional", "the table"),
                    ("column", "string, optional", "the column"),
                    ("name", "string, optional", "the property"),
                    ("word", "string, optional", "the value"),
                    ("path", "string, optional", "the file"),
                    ("expected", "string, optional", "the file that is missing"),
                    ("problem", "string, optional", "the problem"),
                    ("repair", "string, optional", "with `--repair`: `done` or `left`"),
                    ("did", "string or null, optional", "what was done"),
                    ("to_do", "string or null, optional", "what is left to do"),
                ],
            },
            JsonObject {
                when: "At the end",
                fields: &[
                    ("summary", "object", "what was verified"),
                    ("summary.revisions", "number, optional", "revisions"),
                    ("summary.bodies", "number, optional", "bodies"),
                    ("summary.missing_bodies", "number, optional", "missing bodies"),
                    ("summary.bytes", "number, optional", "bytes of the bodies"),
                    ("summary.findings", "number, optional", "findings"),
                    ("summary.before", "map, optional", "with `--repair`: the summary before it"),
                    ("summary.done", "number, optional", "with `--repair`: findings that were repaired"),
                    ("summary.left", "number, optional", "with `--repair`: findings that are left"),
                ],
            },
        ],
    },
    JsonVerb {
        verb: "crystal save-as",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("path", "string", "the copy"),
                ("files", "number", "its files"),
                ("bytes", "number", "their bytes"),
            ],
        }],
    },
    JsonVerb {
        verb: "crystal property",
        objects: &[JsonObject {
            when: "For each property",
            fields: &[("name", "string", "the name"), ("value", "string or null", "the value")],
        }],
    },
    JsonVerb {
        verb: "moku info",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("project", "string or null", "the project of the site"),
                ("redaction", "string", "the redaction of headers"),
                ("tags", "number", "tags"),
                ("head", "string or null", "the version of HEAD"),
            ],
        }],
    },
];
