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

/// Names in markup, JSON and scripts under which stands the time at which a page was made.
macro_rules! time_name {
    () => {
        r"(?:data-|x-)?(?:timestamp|now|(?:server|render|build|page|load|request|current|cache|generation)[_-]?(?:time(?:stamp)?|date)|(?:generated|rendered|built|cached|served)(?:[_-]?(?:at|on|time))?)"
    };
}

/// The same, for names that stand for much else, and only mean seconds since 1970 if such a number follows.
macro_rules! seconds_name {
    () => {
        concat!(r"(?:", time_name!(), r"|(?:data-|x-)?(?:time|ts))")
    };
}

/// Names of meta elements that tell when a page was made or last written.
macro_rules! meta_name {
    () => {
        r"(?:dc(?:terms)?[.:](?:created|modified)|article:modified_time|og:updated_time|last-modified|(?:page-)?(?:generated|rendered|timestamp)(?:[_-]?(?:at|on|time|date))?|build[_-]?(?:time|date)|date-(?:creation|revision)-yyyymmdd)"
    };
}

/// Files that a page loads and does not show. Their names are those of programs, and may have hashes.
macro_rules! program {
    () => {
        r"(?:\.(?:min|chunk|bundle|module|esm))?\.(?:js|mjs|css|map|woff2?)\b"
    };
}

macro_rules! image {
    () => {
        r"\.(?:png|jpe?g|gif|svg|webp|ico)\b"
    };
}

macro_rules! asset {
    () => {
        r"\.(?:js|mjs|css|map|woff2?|png|jpe?g|gif|svg|webp|ico)"
    };
}

pub(super) use {
    any_date, asset, assigned, clock, day, image, iso_date, iso_time, meta_name, month, program, seconds,
    seconds_name, time_name,
};
