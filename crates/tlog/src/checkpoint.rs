//! Checkpoints: the size and root of a tree, as the text of a note (c2sp.org/tlog-checkpoint).

use std::fmt;

use crate::{LogError, MAX_LEAVES, SignedNote, TreeHash};

/// What a log says about itself at one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeCheckpoint {
    /// The name of the log.
    pub origin: String,
    /// The number of leaves.
    pub size: u64,
    /// The root hash.
    pub root: TreeHash,
    /// Lines with other meanings.
    pub extensions: Vec<String>,
}

impl TreeCheckpoint {
    /// Parses the text of a note.
    pub fn parse(text: &str) -> Result<Self, LogError> {
        let lines = text.strip_suffix('\n').ok_or(LogError::Checkpoint("the last line is not complete"))?;
        let mut lines = lines.split('\n');
        let too_short = || LogError::Checkpoint("it does not have an origin, a size and a root");
        let origin = lines.next().filter(|origin| !origin.is_empty()).ok_or_else(too_short)?;
        let size = parse_number(lines.next().ok_or_else(too_short)?)
            .ok_or(LogError::Checkpoint("the second line is not a size"))?;
        let root = TreeHash::parse(lines.next().ok_or_else(too_short)?)
            .ok_or(LogError::Checkpoint("the third line is not a root in base64"))?;
        let extensions: Vec<String> = lines.map(str::to_owned).collect();
        if extensions.iter().any(String::is_empty) {
            return Err(LogError::Checkpoint("it has an empty line"));
        }
        Ok(Self { origin: origin.to_owned(), size, root, extensions })
    }

    /// Parses the bytes of a note whose text is a checkpoint. The signatures are not verified.
    pub fn of_note(bytes: &[u8]) -> Result<(SignedNote, Self), LogError> {
        let note = SignedNote::parse(bytes)?;
        let checkpoint = Self::parse(note.text())?;
        Ok((note, checkpoint))
    }
}

impl fmt::Display for TreeCheckpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, size, root, extensions } = self;
        write!(formatter, "{origin}\n{size}\n{root}\n")?;
        extensions.iter().try_for_each(|line| writeln!(formatter, "{line}"))
    }
}

/// Parses a decimal number without leading zeros, of a size that a log may have.
fn parse_number(text: &str) -> Option<u64> {
    let is_canonical =
        text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    text.parse().ok().filter(|number| is_canonical && *number <= MAX_LEAVES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    const EXAMPLE_NOTE: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

    #[test]
    fn the_example_of_the_specification_is_read_back() {
        let (note, checkpoint) = TreeCheckpoint::of_note(EXAMPLE_NOTE.as_bytes()).unwrap();
        assert_eq!(
            (checkpoint.origin.as_str(), checkpoint.size),
            ("example.com/behind-the-sofa", 20_852_163)
        );
        assert_eq!(checkpoint.to_string(), note.text());
    }

    #[test]
    fn other_texts_are_refused() {
        let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
        for text in [
            String::new(),
            "\n".to_owned(),
            format!("\n1\n{root}\n"),
            format!("a\n01\n{root}\n"),
            format!("a\n+1\n{root}\n"),
            format!("a\n\n{root}\n"),
            format!("a\n1\n{root}"),
            format!("a\n1\n{}\n", &root[1..]),
            format!("a\n1\n{root}\n\nb\n"),
            format!("a\n18446744073709551616\n{root}\n"),
            format!("a\n18446744073709551615\n{root}\n"),
        ] {
            assert!(TreeCheckpoint::parse(&text).is_err(), "{text:?}");
        }
        assert!(TreeCheckpoint::parse(&format!("a\n1\n{root}\nmore\n")).is_ok());
    }
}
