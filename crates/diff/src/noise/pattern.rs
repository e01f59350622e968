//! What a pattern of the rule table is: forms, the shape of a value and the place of a value.
//!
//! No form is enough alone. A word under the name of a token is a setting, and a token under
//! another name is an account.

use super::rules::NoiseRule;

/// Words in lower case.
pub(super) type SignWords = &'static [&'static str];

/// Forms of text that a rule knows.
#[derive(Debug)]
pub(super) struct NoisePattern {
    pub(super) rule: NoiseRule,
    /// Words of which every text has one, in either case, that a form matches. They are searched
    /// first, because that is cheap.
    pub(super) sign: SignWords,
    /// The shape that the value must have.
    pub(super) shape: ValueShape,
    /// The place that the value must be at.
    pub(super) position: Position,
    /// Regular expressions, with names of [parts](expand_parts) in braces. The groups are values.
    pub(super) forms: &'static [&'static str],
}

/// The shape that a value must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueShape {
    /// Any that the form matches.
    AsMatched,
    /// A token: letters and digits, and neither a word, a number, a path nor an address.
    Token,
    /// A hash. The new one must have the same length.
    Hash,
    /// The id of one request: a hash or a UUID, and no number that people count with.
    RequestId,
    /// A hash that was replaced by the same other one in several links of the page.
    SwappedHash,
    /// The digest of an asset. The address of the asset, in the same tag, must have changed as
    /// well.
    AssetDigest,
    /// A scrambled mail address. The new one must hide the same address.
    ScrambledAddress,
}

/// The place that a value must be at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Any place.
    Anywhere,
    /// In an attribute of the name in the form, or in the `value` or `content` of an element that
    /// has that name. Not in a `time` element.
    Attribute,
    /// In a start tag, except that of a `time` element.
    Tag,
    /// Not in text that readers see.
    Unshown,
    /// In a script, a style, or a body without tags.
    Program,
    /// In the address of a script, style or font that the page loads from its own host.
    OwnAsset,
    /// A field of the object in which a framework keeps the state of the page.
    FrameworkState,
    /// In a comment or after words that say that the page was made at that time.
    PageTime,
    /// In a comment that says so.
    PageDate,
    /// In a comment.
    Comment,
}

/// Parts that several patterns share. A part may contain parts that are listed after it.
#[rustfmt::skip]
const PATTERN_PARTS: [(&str, &str); 27] = [
    ("iso_time", "{iso_date}[T ]{clock}"),
    // Seconds or milliseconds since 1970.
    ("unix_time", r"1\d{9}(?:\d{3}|\.\d{1,9})?\b"),
    // Date with or without the time of day, in the forms of `meta` elements.
    ("any_date", r"(?:{day}(?:\d{1,2} {month} \d{4}|{month} \d{1,2},? \d{4}|{iso_date})(?:(?:T|,? ){clock})?|(?:19|20)\d{6}|1\d{9}(?:\d{3})?)"),
    // Day of the week, optional.
    ("day", "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"),
    // Month, by name.
    ("month", r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"),
    // Time of day, with or without seconds and time zone.
    ("clock", r"[0-2]?\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:\s?(?:Z|UTC|GMT|[CEMP][DES]T|CEST)\b|\s?[+-][0-2]\d:?[0-5]\d\b)?"),
    ("iso_date", r"(?:19|20)\d\d-[01]\d-[0-3]\d"),
    // Text before a variable that is assigned.
    ("assignment", r"(?:\b(?:var|let|const)\s{1,4}|[.{(]|[;,]\s)"),
    // The same, for a variable of the page: also the current time and the time of a build.
    ("own_time_name", "(?:{time_name}|now|_{0,2}build[_-]?(?:time(?:stamp)?|date)_{0,2})"),
    // Names of the time at which a page was made. `timestamp` is also the time of an auction or a
    // report.
    ("time_name", "(?:data-|x-)?(?:(?:server|render|current|cache|generation)[_-]?(?:time(?:stamp)?|now)|(?:server|render|cache|generation)[_-]?date|(?:rendered|cached)[_-]?(?:at|on|time)|page[_-]?(?:generated|rendered|built)(?:[_-]?(?:at|on))?|(?:data|x)-generated(?:-?(?:at|on|time))?)"),
    // The same, with the names that only fields of forms have.
    ("csrf_name", r"(?:{csrf_word}|form_build_id|form_token|__viewstate\w{0,20}|__eventvalidation)"),
    // Names of CSRF tokens. Settings have other names: `csrf-mode`, `csrfUrl`.
    ("csrf_word", "(?:(?:x-|data-|_{1,2}|(?:anti|app|form|js|login|owasp|session|user|web|yii)[_-]?){0,3}(?:csrf|xsrf)p?(?:[._-]?(?:token|hash|nonce|value|key|middlewaretoken|test[_-]name|frontend|backend)){0,2}|(?:__|x-)?requestverificationtoken|authenticity_token)"),
    // Names of nonces in forms. `announce` and `pronounce` are other words.
    ("form_nonce_name", r"(?:[\w-]{0,40}[_-])?(?:(?:wp|rest)?nonce|(?-i:[a-z]{1,40}(?:[A-Z][a-z]{0,40}){0,4}Nonce))"),
    // Names of nonces anywhere: those of policies and of WordPress. Payments and blocks have nonces
    // as well.
    ("nonce_name", r"(?:[\w-]{0,40}[_-])?(?:csp|wp|ajax|rest)[_-]?nonce"),
    // Names of the id of one request.
    ("request_name", "(?:(?:data|x|http|server|amzn?)[_-]){0,3}(?:request|trace|correlation|span|visitor|render|pageview|(?-i:wgRequest))[_-]?id"),
    // Names of the build of a page. Pages name the commits of other projects, so commits are not
    // included.
    ("build_name", "_{0,2}(?:app[_-]?)?(?:build|(?:build|deploy|deployment)[_-]?(?:id|hash|sha|rev|revision))_{0,2}"),
    // The form before the name of a field, as in `form[field]`.
    ("form_prefix", r"(?:[\w.-]{1,40}\[)?"),
    // Text before a name in a script or an object, also at the start of a line.
    ("named_value", r"(?:\b(?:var|let|const)\s{1,4}|[.{(]|[;,]|(?m:^))\s{0,40}"),
    // The beginning of a sentence about the page.
    ("page_sentence", r"(?:^|[>|(]|\. )\s{0,8}(?:this |the )?(?:page|document)"),
    // Number of seconds or milliseconds.
    ("duration", r"(\d{1,9}(?:\.\d{1,9})?)\s?{time_unit}\b"),
    ("time_unit", "(?:ms|s|secs?|seconds?|milliseconds?)"),
    // Number of database queries and their time.
    ("queries", r"\d{1,6} (?:db |database |sql )?queries(?: in|\.|,)? \d{1,5}(?:[.,]\d{1,9})? ?(?:ms|s|secs?|seconds)"),
    // Time of a response, and the name of the server.
    ("served_by", r"served in (\d{1,7}(?:\.\d{1,6})? ?m?s by [\w.-]{1,60})"),
    // All of the value of an attribute.
    ("attribute_value", r#"([^"'<>\s]{4,})$"#),
    // Names of `meta` elements for the time at which a page was made. The time of the last edit is
    // not one.
    ("meta_time_name", "(?:dc(?:terms)?[.:]created|(?:page-)?(?:generated|rendered)(?:[_-]?(?:at|on|time|date))?|page-timestamp|build[_-]?(?:time|date)|date-creation-yyyymmdd)"),
    // File names of scripts, styles and fonts, which may have hashes.
    ("asset_file", r"(?:\.(?:min|chunk|bundle|module|esm))?\.(?:js|mjs|css|map|woff2?|ttf|otf)\b"),
    // Parameters between a file name and the parameter for its version.
    ("asset_parameters", r#"\?(?:[^"'<>\s?]{0,80}?&(?:amp;)?)?"#),
];

/// A form with its parts in place of their names.
pub(super) fn expand_parts(form: &str) -> String {
    let expand = |form: String, (name, part): &(&str, &str)| form.replace(&format!("{{{name}}}"), part);
    PATTERN_PARTS.iter().fold(form.to_owned(), expand)
}
