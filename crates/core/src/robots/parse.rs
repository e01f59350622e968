//! The lines of a `robots.txt`, and the groups they make.
//!
//! A group is one or more lines that name robots, and the rules after them. Other lines, such as
//! `Sitemap` or `Crawl-delay`, neither end the names nor begin the rules. Misspelt directives are
//! corrected: a site that writes `dissalow` wants to exclude robots.

use super::MAX_ROBOTS_BYTES;
use super::rules::RobotsRule;
use std::borrow::Cow;
use std::time::Duration;

/// Maximum length of a line in bytes: longer lines are cut, since no path has this length.
const MAX_LINE_BYTES: usize = 16 << 10;

/// A group: robots and their common rules.
#[derive(Debug, Clone, Default)]
pub(super) struct RobotsGroup {
    /// The product tokens in lower case, in order; `*` means every robot.
    agents: Vec<String>,
    pub(super) rules: Vec<RobotsRule>,
    /// Delays between requests, each with the number of robots that the group had named before it.
    pub(super) delays: Vec<(usize, Duration)>,
}

impl RobotsGroup {
    /// The position at which the group names a robot.
    pub(super) fn position(&self, agent: &str) -> Option<usize> {
        self.agents.iter().position(|named| named.eq_ignore_ascii_case(agent))
    }
}

/// A parsed file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) groups: Vec<RobotsGroup>,
    pub(super) sitemaps: Vec<String>,
}

/// The directive of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RobotsDirective {
    Agent,
    Allow,
    Disallow,
    CrawlDelay,
    RequestRate,
    Sitemap,
    Other,
}

/// Parses a file.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let text = text(bytes);
    let mut parsed = Parsed::default();
    // Whether the next names belong to the last group.
    let mut naming = false;
    for (number, line) in text.split(['\n', '\r']).enumerate() {
        let line = &line[..line.floor_char_boundary(MAX_LINE_BYTES)];
        let Some((directive, value)) = read(line) else { continue };
        match directive {
            RobotsDirective::Agent => {
                if !naming {
                    parsed.groups.push(RobotsGroup::default());
                }
                naming = true;
            }
            RobotsDirective::Allow | RobotsDirective::Disallow => naming = false,
            _ => {}
        }
        parsed.take(directive, value, number + 1);
    }
    parsed
}

impl Parsed {
    fn take(&mut self, directive: RobotsDirective, value: &str, line: usize) {
        if directive == RobotsDirective::Sitemap {
            self.sitemaps.push(value.to_owned());
            return;
        }
        // Rules before the first name apply to no robot.
        let Some(group) = self.groups.last_mut() else { return };
        let delay = match directive {
            RobotsDirective::Agent => return group.agents.push(token(value).to_ascii_lowercase()),
            RobotsDirective::Allow => return group.rules.extend(RobotsRule::new(true, value, line)),
            RobotsDirective::Disallow => return group.rules.extend(RobotsRule::new(false, value, line)),
            RobotsDirective::CrawlDelay => seconds(value),
            RobotsDirective::RequestRate => pause(value),
            RobotsDirective::Sitemap | RobotsDirective::Other => None,
        };
        group.delays.extend(delay.map(|delay| (group.agents.len(), delay)));
    }
}

/// The text of the file: byte order marks are removed and UTF-16 is decoded. Text beyond the limit
/// is cut at the end of a line, since half a path would forbid too much.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    let cut = &bytes[..bytes.len().min(MAX_ROBOTS_BYTES)];
    let cut = match cut {
        _ if cut.len() == bytes.len() => cut,
        _ => &cut[..cut.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(0)],
    };
    let wide = |pair: fn([u8; 2]) -> u16| {
        let units = cut[2..].chunks_exact(2).map(|bytes| pair([bytes[0], bytes[1]]));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match cut {
        [0xff, 0xfe, ..] => Cow::Owned(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Cow::Owned(wide(u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(cut),
    }
}

/// The directive of a line and its value. Comments are dropped.
fn read(line: &str) -> Option<(RobotsDirective, &str)> {
    let line = line.split('#').next().unwrap_or("").trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if is_bare_sitemap(line) {
        return Some((RobotsDirective::Sitemap, line));
    }
    let with_colon = line.split_once(':').map(|(name, value)| (directive(name), value.trim()));
    match with_colon {
        Some((RobotsDirective::Other, _)) | None => without_colon(line).or(with_colon),
        known => known,
    }
}

/// Accepts a line without a colon, a common mistake, if exactly one word follows the directive.
fn without_colon(line: &str) -> Option<(RobotsDirective, &str)> {
    let (name, value) = line.split_once(char::is_whitespace)?;
    let value = value.trim();
    let known = directive(name);
    (known != RobotsDirective::Other && !value.contains(char::is_whitespace)).then_some((known, value))
}

/// Whether a line is a sitemap URL without `Sitemap:`, another common mistake.
fn is_bare_sitemap(line: &str) -> bool {
    let is_web = line.starts_with("http://") || line.starts_with("https://");
    is_web && line.contains("sitemap") && !line.contains(char::is_whitespace)
}

/// The directive with this name or a similar one.
fn directive(name: &str) -> RobotsDirective {
    /// The names, each with the number of wrong letters that are accepted.
    const NAMES: [(&str, RobotsDirective, usize); 6] = [
        ("allow", RobotsDirective::Allow, 0),
        ("disallow", RobotsDirective::Disallow, 2),
        ("user-agent", RobotsDirective::Agent, 2),
        ("crawl-delay", RobotsDirective::CrawlDelay, 2),
        ("request-rate", RobotsDirective::RequestRate, 0),
        ("sitemap", RobotsDirective::Sitemap, 1),
    ];
    let name = name.trim();
    if name.len() > 14 {
        return RobotsDirective::Other;
    }
    let name = name.to_ascii_lowercase();
    let exact = NAMES.iter().find(|(known, ..)| *known == name);
    let near = || NAMES.iter().find(|(known, _, most)| distance(known.as_bytes(), name.as_bytes()) <= *most);
    exact.or_else(near).map_or(RobotsDirective::Other, |(_, directive, _)| *directive)
}

/// The edit distance: how many letters must be added, removed or changed to turn one word into the
/// other.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for (at, other) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != other);
            corner = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

/// The product token at the beginning of a name: `OutfoxBot/0.5` means all of that bot's versions.
fn token(value: &str) -> &str {
    if value.starts_with('*') {
        return "*";
    }
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    &value[..value.find(|c| !is_token(c)).unwrap_or(value.len())]
}

/// Parses seconds such as `10` and `0.5`; `None` for other texts.
fn seconds(value: &str) -> Option<Duration> {
    let number = value.split_whitespace().next()?.trim_end_matches(['s', 'S']);
    let seconds: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The delay between two requests at a rate such as `30/1m`. Times of day are ignored: the rate
/// applies around the clock.
fn pause(value: &str) -> Option<Duration> {
    let (count, time) = value.split_whitespace().next()?.split_once('/')?;
    let count: u32 = count.parse().ok().filter(|count| *count > 0)?;
    let digits = time.find(|c: char| !c.is_ascii_digit()).unwrap_or(time.len());
    let unit = match &time[digits..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let number: u64 = if digits == 0 { 1 } else { time[..digits].parse().ok()? };
    Some(Duration::from_secs(number.checked_mul(unit)?) / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_nearly_right() {
        for name in ["Disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"] {
            assert_eq!(directive(name), RobotsDirective::Disallow, "{name}");
        }
        for name in ["user-agent ", "UserAgent", "user agent", "useg-agent"] {
            assert_eq!(directive(name), RobotsDirective::Agent, "{name}");
        }
        assert_eq!(directive("site-map"), RobotsDirective::Sitemap);
        for name in ["alow", "host", "noindex", "visit-time", "comment", "http", ""] {
            assert_eq!(directive(name), RobotsDirective::Other, "{name}");
        }
    }

    #[test]
    fn lines() {
        assert_eq!(read(" disallow : /x # y"), Some((RobotsDirective::Disallow, "/x")));
        assert_eq!(read("disallow /x"), Some((RobotsDirective::Disallow, "/x")));
        assert_eq!(read("disallow this or that"), None);
        assert_eq!(read("Sitemap http://h/s"), Some((RobotsDirective::Sitemap, "http://h/s")));
        assert_eq!(
            read("http://h/my-sitemap.xml"),
            Some((RobotsDirective::Sitemap, "http://h/my-sitemap.xml"))
        );
        assert_eq!(read("# all"), None);
        assert_eq!(read("<html>: x"), Some((RobotsDirective::Other, "x")));
    }

    #[test]
    fn tokens_and_times() {
        assert_eq!(["OutfoxBot/0.5", "* # x", "Black.Hole", ""].map(token), ["OutfoxBot", "*", "Black", ""]);
        assert_eq!(seconds("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(["-1", "NaN", "1e400", "", "x"].map(seconds), [None; 5]);
        assert_eq!(pause("30/1m"), Some(Duration::from_secs(2)));
        assert_eq!(pause("1/5 0100-0200"), Some(Duration::from_secs(5)));
        assert_eq!(["0/1m", "1", "1/1d", "/", "1/99999999999999999999"].map(pause), [None; 5]);
    }

    #[test]
    fn a_long_file_is_cut_between_lines() {
        let mut file = b"User-agent: *\n".to_vec();
        file.resize(MAX_ROBOTS_BYTES - 5, b'#');
        file.extend_from_slice(b"\nDisallow: /secret\n");
        assert_eq!(parse(&file).groups[0].rules.len(), 0);
        file.drain(14..100);
        assert_eq!(parse(&file).groups[0].rules.len(), 1);
    }
}
