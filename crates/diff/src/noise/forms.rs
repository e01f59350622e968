//! Parts of patterns that several rules share: dates, names under which times stand, endings of files.
//!
//! They are macros because patterns are put together by `concat!`, which takes nothing else.

/// The day of the week, if it is told.
macro_rules! day {
    () => {
        r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
    };
}

macro_rules! month {
    () => {
        r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
    };
}

/// The time of day, with seconds or without, and what may follow it.
macro_rules! clock {
    () => {
        r"[0-2]?\d:[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:\s?(?:Z|UTC|GMT|[CEMP][DES]T|CEST)\b|\s?[+-][0-2]\d:?[0-5]\d\b)?"
    };
}

macro_rules! iso_date {
    () => {
        r"(?:19|20)\d\d-[01]\d-[0-3]\d"
    };
}

macro_rules! iso_time {
    () => {
        concat!(iso_date!(), "[T ]", clock!())
    };
}

/// Seconds or milliseconds since 1970.
macro_rules! seconds {
    () => {
        r"1\d{9}(?:\d{3}|\.\d{1,9})?\b"
    };
}

/// A date with or without the time of day, in any of the forms in which meta elements have it.
macro_rules! any_date {
    () => {
        concat!(
            r"(?:",
            day!(),
            r"(?:\d{1,2} ",
            month!(),
            r" \d{4}|",
            month!(),
            r" \d{1,2},? \d{4}|",
            iso_date!(),
            r")(?:(?:T|,? )",
            clock!(),
            r")?|(?:19|20)\d{6}|1\d{9}(?:\d{3})?)"
        )
    };
}

/// What stands before a name in a script that a value is given to.
macro_rules! assigned {
    () => {
        r"(?:\b(?:var|let|const)\s{1,4}|[.{(]|[;,]\s)"
    };
}

/// Names in markup, JSON and scripts under which stands the time at which a page was made, and nothing else: not `timestamp`, which is
/// that of an auction or a countdown, nor that of a request, a build or a report, of which pages have lists.
macro_rules! time_name {
    () => {
        r"(?:data-|x-)?(?:(?:server|render|current|cache|generation)[_-]?(?:time(?:stamp)?|now)|(?:server|render|cache|generation)[_-]?date|(?:rendered|cached)[_-]?(?:at|on|time)|page[_-]?(?:generated|rendered|built)(?:[_-]?(?:at|on))?|(?:data|x)-generated(?:-?(?:at|on|time))?)"
    };
}

/// The same, and now, and that of a build, where a page gives it to a variable of its own.
macro_rules! own_time_name {
    () => {
        concat!("(?:", time_name!(), r"|now|_{0,2}build[_-]?(?:time(?:stamp)?|date)_{0,2})")
    };
}

/// Names of tokens against forged requests that mean nothing else wherever they stand. What else is told of them has other names:
/// `csrf-mode`, `csrfUrl`.
macro_rules! csrf_word {
    () => {
        concat!(
            r"(?:(?:x-|data-|_{1,2}|(?:anti|app|form|js|login|owasp|session|user|web|yii)[_-]?){0,3}",
            r"(?:csrf|xsrf)p?(?:[._-]?(?:token|hash|nonce|value|key|middlewaretoken|test[_-]name|frontend|backend)){0,2}",
            r"|(?:__|x-)?requestverificationtoken|authenticity_token)"
        )
    };
}

/// The same, and those that fields of forms have.
macro_rules! csrf_name {
    () => {
        concat!("(?:", csrf_word!(), r"|form_build_id|form_token|__viewstate\w{0,20}|__eventvalidation)")
    };
}

/// Names of numbers used once, in forms. To announce and to pronounce is something else.
macro_rules! form_nonce_name {
    () => {
        r"(?:[\w-]{0,40}[_-])?(?:(?:wp|rest)?nonce|(?-i:[a-z]{1,40}(?:[A-Z][a-z]{0,40}){0,4}Nonce))"
    };
}

/// Names of numbers used once wherever they stand: those of policies and of one large publishing system. Payments and blocks have
/// nonces, too.
macro_rules! nonce_name {
    () => {
        r"(?:[\w-]{0,40}[_-])?(?:csp|wp|ajax|rest)[_-]?nonce"
    };
}

/// Names of one request.
macro_rules! request_name {
    () => {
        r"(?:(?:data|x|http|server|amzn?)[_-]){0,3}(?:request|trace|correlation|span|visitor|render|pageview|(?-i:wgRequest))[_-]?id"
    };
}

/// Names of what a page was built from. Those of commits are not among them: pages speak of the commits of others.
macro_rules! build_name {
    () => {
        r"_{0,2}(?:app[_-]?)?(?:build|(?:build|deploy|deployment)[_-]?(?:id|hash|sha|rev|revision))_{0,2}"
    };
}

/// What stands before the name of a field that belongs to a form with a name.
macro_rules! in_form {
    () => {
        r"(?:[\w.-]{1,40}\[)?"
    };
}

/// What stands before a name in a script or an object that a value is given to, also at the start of a line.
macro_rules! named {
    () => {
        r"(?:\b(?:var|let|const)\s{1,4}|[.{(]|[;,]|(?m:^))\s{0,40}"
    };
}

/// The beginning of a sentence that a page says of itself.
macro_rules! page_says {
    () => {
        r"(?:^|[>|(]|\. )\s{0,8}(?:this |the )?(?:page|document)"
    };
}

/// A number of seconds, or parts of them.
macro_rules! duration {
    () => {
        r"(?<v>\d{1,9}(?:\.\d{1,9})?)\s?(?:ms|s|secs?|seconds?|milliseconds?)\b"
    };
}

/// Names of meta elements that tell when a page was made. When it was last edited is something that somebody says.
macro_rules! meta_name {
    () => {
        r"(?:dc(?:terms)?[.:]created|(?:page-)?(?:generated|rendered)(?:[_-]?(?:at|on|time|date))?|page-timestamp|build[_-]?(?:time|date)|date-creation-yyyymmdd)"
    };
}

/// Files that a page loads and does not show. Their names are those of programs, and may have hashes.
macro_rules! program {
    () => {
        r"(?:\.(?:min|chunk|bundle|module|esm))?\.(?:js|mjs|css|map|woff2?|ttf|otf)\b"
    };
}

/// What may stand between the name of a file and the parameter that tells its version.
macro_rules! parameters {
    () => {
        r#"\?(?:[^"'<>\s?]{0,80}?&(?:amp;)?)?"#
    };
}

pub(super) use {
    any_date, assigned, build_name, clock, csrf_name, csrf_word, day, duration, form_nonce_name, in_form,
    iso_date, iso_time, meta_name, month, named, nonce_name, own_time_name, page_says, parameters, program,
    request_name, seconds, time_name,
};
