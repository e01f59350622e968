//! The JSON fields of `capture`, `check` and `urls`.

use super::{JsonField, JsonObject, JsonVerb};

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb {
        verb: "capture",
        objects: &[
            JsonObject {
                when: "For each event",
                fields: &[
                    (
                        "event",
                        "string",
                        "`began`, `captured`, `exchanged`, `failed`, `note`, `skipped`, `links_skipped`, `wants_tls`, `waits`, `given_up`, `checkpoint` or `clock_behind`",
                    ),
                    ("run", "string, optional", "the id of the run (`began`)"),
                    ("resumed", "bool, optional", "whether the run continues an earlier one (`began`)"),
                    ("url", "string, optional", "the URL that the event is about"),
                    (
                        "time",
                        "string, optional",
                        "when it was captured, or the time of a version (`clock_behind`)",
                    ),
                    ("now", "string, optional", "the time of the clock (`clock_behind`)"),
                    (
                        "version",
                        "string, optional",
                        "the version that is later than the clock (`clock_behind`)",
                    ),
                    ("status", "number, optional", "the HTTP status"),
                    (
                        "method",
                        "string, optional",
                        "the method of a request that the page made (`exchanged`)",
                    ),
                    ("length", "number or null, optional", "the length of the body in bytes"),
                    ("page", "bool, optional", "whether it is an HTML page (`captured`)"),
                    (
                        "unchanged",
                        "bool, optional",
                        "whether the body is that of the last capture (`captured`)",
                    ),
                    (
                        "truncated",
                        "string or null, optional",
                        "why the response is incomplete, a value of `WARC-Truncated`",
                    ),
                    ("kind", "string, optional", "the kind of failure (`failed`, `given_up`)"),
                    ("message", "string, optional", "a sentence (`failed`, `note`, `given_up`)"),
                    ("rule", "string, optional", "the rule that excludes it (`skipped`, `links_skipped`)"),
                    (
                        "seed",
                        "bool, optional",
                        "whether it was given on the command line or by the plan (`skipped`)",
                    ),
                    ("links", "number, optional", "how many links were skipped (`links_skipped`)"),
                    ("host", "string, optional", "the host that is waited for or given up"),
                    ("until", "string, optional", "when the host may be asked again (`waits`)"),
                    ("left", "number, optional", "URLs of the host that are still queued (`waits`)"),
                    ("captured", "number, optional", "captures that are durable (`checkpoint`)"),
                ],
            },
            JsonObject { when: "At the end, in an archive", fields: RUN_SUMMARY },
            JsonObject { when: "At the end, in a Crystal project", fields: PROJECT_RUN_SUMMARY },
        ],
    },
    JsonVerb { verb: "proxy", objects: RECORDING_OBJECTS },
    JsonVerb { verb: "record", objects: RECORDING_OBJECTS },
    JsonVerb { verb: "check", objects: CHECK_OBJECTS },
    JsonVerb {
        verb: "urls add",
        objects: &[JsonObject {
            when: "For each URL",
            fields: &[
                ("url", "string", "the URL as the database spells it"),
                ("file", "string or null", "the file of its expected content, below the database"),
                ("new", "bool", "whether the database did not have it"),
            ],
        }],
    },
    JsonVerb { verb: "urls check", objects: CHECK_OBJECTS },
    JsonVerb {
        verb: "urls list",
        objects: &[JsonObject { when: "For each URL", fields: EXPECTATION_FIELDS }],
    },
    JsonVerb { verb: "urls show", objects: &[JsonObject { when: "One object", fields: EXPECTATION_FIELDS }] },
];

const RUN_SUMMARY: &[JsonField] = &[
    ("version", "string or null", "the version that was made"),
    ("parent", "string or null", "its parent"),
    ("run", "string", "the id of the run"),
    ("captured", "number", "captures of the version"),
    ("captured_now", "number", "captures since the run was started or resumed"),
    ("pages", "number", "captured HTML pages"),
    ("pages_answered", "map", "the number of pages by status, for those that were not found or failed"),
    ("unchanged", "number", "captures with the body of the last capture"),
    ("truncated", "number", "incomplete responses"),
    ("exchanged", "number", "requests that pages made and that are no captures"),
    ("present", "number", "URLs that an earlier part of the run had captured"),
    ("failed", "number", "URLs without a response, in all parts of the run"),
    ("failed_now", "number", "URLs without a response since the run was started or resumed"),
    ("skipped", "number", "URLs that a rule excluded"),
    ("bytes", "number", "bytes of the bodies"),
    ("queued", "number", "URLs still in the queue"),
    ("limited", "string or null", "the limit that ended the run"),
    ("stopped", "bool", "whether the run was stopped and can be resumed"),
    ("given_up", "number", "hosts that were given up"),
    ("again", "string or null", "when the hosts that are waited for may be asked again"),
];

const RECORDING_OBJECTS: &[JsonObject] = &[
    JsonObject {
        when: "For each event",
        fields: &[
            ("event", "string", "`began`, `listening`, `captured`, `exchanged`, `failed` or `checkpoint`"),
            ("proxy", "string, optional", "the URL of the proxy (`listening`)"),
            ("run", "string, optional", "the id of the run (`began`)"),
            ("resumed", "bool, optional", "whether the run continues an earlier one (`began`)"),
            ("url", "string, optional", "the URL that the event is about"),
            ("time", "string, optional", "when it was captured (`captured`)"),
            ("status", "number, optional", "the HTTP status"),
            ("method", "string, optional", "the method of the request (`exchanged`)"),
            ("length", "number, optional", "the length of the body in bytes"),
            ("page", "bool, optional", "whether a browser showed it as a page (`captured`)"),
            ("unchanged", "bool, optional", "whether the body is that of the last capture (`captured`)"),
            (
                "truncated",
                "string or null, optional",
                "why the response is incomplete, a value of `WARC-Truncated`",
            ),
            ("kind", "string, optional", "the kind of failure (`failed`)"),
            ("message", "string, optional", "a sentence (`failed`)"),
            ("captured", "number, optional", "captures that are durable (`checkpoint`)"),
        ],
    },
    JsonObject {
        when: "At the end",
        fields: &[
            ("version", "string or null", "the version that was made; null if nothing was captured"),
            ("parent", "string or null", "its parent"),
            ("run", "string", "the id of the run"),
            ("captured", "number", "captures of the version"),
            ("unchanged", "number", "captures with the body of the last capture"),
            ("truncated", "number", "incomplete responses"),
            ("exchanged", "number", "exchanges that are no captures"),
            ("failed", "number", "requests without a response"),
            ("bytes", "number", "bytes received"),
        ],
    },
];

const PROJECT_RUN_SUMMARY: &[JsonField] = &[
    ("version", "null", "a project has no versions"),
    ("run", "string", "the id of the run"),
    ("finished", "bool", "whether the queue is empty"),
    ("captured", "number", "captured URLs"),
    ("revisions", "number", "revisions that were added"),
    ("pages", "number", "captured HTML pages"),
    ("unchanged", "number", "captures with the body of the last revision"),
    ("truncated", "number", "incomplete responses"),
    ("present", "number", "URLs that the project has already"),
    ("failed", "number", "URLs without a response"),
    ("skipped", "number", "URLs that a rule excluded"),
    ("bytes", "number", "bytes of the bodies"),
    ("queued", "number", "URLs still in the queue"),
];

const CHECK_OBJECTS: &[JsonObject] = &[
    JsonObject {
        when: "For each URL",
        fields: &[
            ("url", "string", "the URL"),
            ("verdict", "string", "`ok`, `changed`, `broken`, `unreachable` or `skipped`"),
            ("status", "number or null", "the HTTP status of the response"),
            ("expected", "string or null", "what was expected, where it differs"),
            ("got", "string or null", "what the response has instead"),
            ("since", "string or null", "since when the verdict is what it is"),
            ("capture", "string or null", "the id of the record with the response"),
            ("reason", "string or null", "why the verdict is not `ok`, in a sentence"),
            ("warning", "string, optional", "a problem that does not make it a failure"),
            ("redirects", "array of object, optional", "the redirects that were followed"),
            ("redirects[].status", "number", "the HTTP status"),
            ("redirects[].location", "string", "where it led"),
            ("final_url", "string, optional", "the URL that the redirects led to"),
            ("final_status", "number, optional", "its HTTP status"),
            ("referrers", "array of string, optional", "with `--links`, the first pages that link to it"),
            ("referrer_count", "number, optional", "the number of all pages that link to it"),
            ("check", "string, optional", "the id of the check with the response"),
            ("health", "string, optional", "`ok`, `flaky`, `failing` or `gone`, from the last checks"),
            (
                "comparison",
                "string, optional",
                "`unchanged`, `noise`, `changed` or `gone`, against the archive",
            ),
            ("last_good", "object, optional", "the last good capture"),
            ("last_good.capture", "string or null", "the id of its record"),
            ("last_good.time", "string", "its time"),
            ("last_good.version", "string or null", "its version; null if a check captured it"),
            ("last_good.check", "string or null", "the check that captured it"),
            ("flaky", "object, optional", "recent failures of a flaky URL"),
            ("flaky.failures", "number", "how many failed"),
            ("flaky.checks", "number", "of how many checks"),
            (
                "difference",
                "`files[]` of `varve diff`, optional",
                "with `--explain`, the difference from the last good capture",
            ),
        ],
    },
    JsonObject {
        when: "At the end",
        fields: &[
            ("summary", "object", "the number of URLs by verdict"),
            ("summary.ok", "number", "as expected"),
            ("summary.changed", "number", "the content differs"),
            ("summary.broken", "number", "the status or the type differs"),
            ("summary.unreachable", "number", "no response"),
            ("summary.skipped", "number", "not requested"),
            ("summary.warnings", "number", "URLs with a warning"),
        ],
    },
];

const EXPECTATION_FIELDS: &[JsonField] = &[
    ("url", "string", "the URL"),
    ("domain", "string", "its domain, the name of the file in the database"),
    ("path", "string", "its path, with the query"),
    ("content_type", "string or null", "the expected type"),
    ("length", "number or null", "the expected length in bytes"),
    ("sha256", "string or null", "the expected digest of the body"),
    ("categories", "array of string", "its categories"),
];
