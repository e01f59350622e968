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
        r"(?:dc(?:terms)?[.:](?:created|modified)|article:modified_time|og:updated_time|last-modified|(?:page-)?(?:generated|rendered|timestamp)(?:[_-]?(?:at|on|time|date))?|build[_-]?(?:time|date)|date-(?:creation|revision)-yyyymmdd|revised)"
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

pub(super) use {asset, clock, day, image, iso_date, meta_name, month, program, seconds_name, time_name};
