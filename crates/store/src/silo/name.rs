//! The names of silo files: the number and its folder.
//!
//! As in AardWARC, no folder holds more than a hundred silos: numbers below 100 are in `0/`, below
//! 10,000 in `1/<hundreds>/`, below a million in `2/<ten thousands>/<hundreds>/`. A name never
//! changes.

use std::path::PathBuf;

use crate::index::SiloPlace;

/// The extension of silos packed as gzip members.
pub const GZIP_EXTENSION: &str = ".warc.gz";
/// The extension of silos packed as zstd frames.
pub const ZSTD_EXTENSION: &str = ".warc.zst";

/// The extension of WARC files that are not packed. No silo has it.
const PLAIN_EXTENSION: &str = ".warc";

/// The name of silo `number` relative to the folder of silos, with `/` as separator.
pub fn name(number: u32, ending: &str) -> String {
    let mut groups = Vec::new();
    let mut rest = number / 100;
    while rest > 0 {
        groups.push(format!("{:02}/", rest % 100));
        rest /= 100;
    }
    let level = groups.len();
    groups.reverse();
    format!("{level}/{}{number:08}{ending}", groups.concat())
}

/// The file name, as stated in the silo's description.
pub fn file_name(number: u32, ending: &str) -> String {
    format!("{number:08}{ending}")
}

/// Parses a silo name into number and extension; `None` for any other name.
pub fn parse(text: &str) -> Option<(u32, &'static str)> {
    let file = text.rsplit('/').next()?;
    let (digits, ending) = file.split_at_checked(8)?;
    let ending = [GZIP_EXTENSION, ZSTD_EXTENSION].into_iter().find(|known| *known == ending)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    (number <= SiloPlace::GREATEST_SILO && name(number, ending) == text).then_some((number, ending))
}

/// The number of the silo that a file may be a copy of: its name is that of a silo, in any folder,
/// packed or not.
pub(crate) fn number_in(text: &str) -> Option<u32> {
    let (digits, ending) = text.rsplit('/').next()?.split_at_checked(8)?;
    let is_silo_name = [PLAIN_EXTENSION, GZIP_EXTENSION, ZSTD_EXTENSION].contains(&ending)
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_silo_name && *number <= SiloPlace::GREATEST_SILO)
}

/// The name as a path.
pub fn path(number: u32, ending: &str) -> PathBuf {
    name(number, ending).split('/').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fan_out_is_that_of_aardwarc() {
        for (number, expected) in [
            (0, "0/00000000.warc.gz"),
            (99, "0/00000099.warc.gz"),
            (100, "1/01/00000100.warc.gz"),
            (9999, "1/99/00009999.warc.gz"),
            (10_000, "2/01/00/00010000.warc.gz"),
            (1_048_575, "3/01/04/85/01048575.warc.gz"),
        ] {
            assert_eq!(name(number, GZIP_EXTENSION), expected);
            assert_eq!(parse(expected), Some((number, GZIP_EXTENSION)));
        }
        assert_eq!(parse("0/00000007.warc.zst"), Some((7, ZSTD_EXTENSION)));
    }

    #[test]
    fn other_file_names_are_not_silos() {
        for text in [
            "",
            "00000000.warc.gz",
            "1/00000000.warc.gz",
            "0/0000000.warc.gz",
            "0/00000000.warc",
            "0/99999999.warc.gz",
            "0/00000100.warc.gz",
            "x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn copies_of_silos_are_known_by_their_number() {
        for text in ["00000007.warc.gz", "1/00000007.warc.zst", "0/copy/00000007.warc"] {
            assert_eq!(number_in(text), Some(7), "{text}");
        }
        for text in ["", "next-number", "0/00000007.warc.gz.cut-12", "0/7.warc.gz", "99999999.warc"] {
            assert_eq!(number_in(text), None, "{text}");
        }
    }
}
