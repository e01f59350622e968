//! The JSON fields of `plan`.

use super::{JsonField, JsonObject, JsonVerb};

pub(super) const VERB_FIELDS: &[JsonVerb] = &[
    JsonVerb {
        verb: "plan root list",
        objects: &[JsonObject {
            when: "For each root",
            fields: &[("name", "string", "the name"), ("url", "string", "the URL")],
        }],
    },
    JsonVerb {
        verb: "plan group list",
        objects: &[JsonObject {
            when: "For each group",
            fields: &[
                ("name", "string", "the name"),
                ("pattern", "string", "the pattern of its URLs"),
                ("found_on", "string or null", "the root or group on whose pages it is looked for"),
                ("do_not_download", "bool", "whether its members are not captured"),
            ],
        }],
    },
    JsonVerb {
        verb: "plan alias list",
        objects: &[JsonObject { when: "For each alias", fields: ALIAS_FIELDS }],
    },
    JsonVerb {
        verb: "plan show",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("roots", "array of object", "the roots"),
                ("roots[].name", "string", "the name"),
                ("roots[].url", "string", "the URL"),
                ("groups", "array of object", "the groups"),
                ("groups[].name", "string", "the name"),
                ("groups[].pattern", "string", "the pattern of its URLs"),
                ("groups[].found_on", "string or null", "the root or group on whose pages it is looked for"),
                ("groups[].do_not_download", "bool", "whether its members are not captured"),
                ("aliases", "array of object", "the aliases"),
                ("aliases[].source", "string", "the beginning of URLs that is replaced"),
                ("aliases[].target", "string", "what replaces it"),
            ],
        }],
    },
    JsonVerb {
        verb: "plan members",
        objects: &[JsonObject {
            when: "For each member",
            fields: &[("url", "string", "the URL"), ("captured", "bool", "whether there is a capture of it")],
        }],
    },
    JsonVerb {
        verb: "plan tree",
        objects: &[JsonObject {
            when: "One object",
            fields: &[
                ("roots", "array of object", "the roots"),
                ("roots[].name", "string", "the name"),
                ("roots[].url", "string", "the URL"),
                ("roots[].captured", "bool", "whether there is a capture of it"),
                ("roots[].groups", "array of map", "the groups found on it, as in `groups`"),
                ("groups", "array of object", "the groups that are found on all pages"),
                ("groups[].name", "string", "the name"),
                ("groups[].pattern", "string", "the pattern of its URLs"),
                ("groups[].found_on", "string or null", "the root or group on whose pages it is looked for"),
                ("groups[].do_not_download", "bool", "whether its members are not captured"),
                ("groups[].captured", "number", "captured members"),
                ("groups[].missing", "number", "members that are known and not captured"),
                ("groups[].groups", "array of map", "the groups found on its members, as in `groups`"),
                ("aliases", "array of object", "the aliases"),
                ("aliases[].source", "string", "the beginning of URLs that is replaced"),
                ("aliases[].target", "string", "what replaces it"),
            ],
        }],
    },
    JsonVerb {
        verb: "plan check",
        objects: &[JsonObject {
            when: "For each problem",
            fields: &[("problem", "string", "the problem, in a sentence")],
        }],
    },
    JsonVerb {
        verb: "plan suggest",
        objects: &[JsonObject {
            when: "For each suggested group",
            fields: &[("pattern", "string", "the pattern"), ("members", "number", "links that match it")],
        }],
    },
];

const ALIAS_FIELDS: &[JsonField] = &[
    ("source", "string", "the beginning of URLs that is replaced"),
    ("target", "string", "what replaces it"),
];
