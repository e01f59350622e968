//! Reads the verdicts of a check one at a time, because a check of many URLs is a long fact. The
//! rest of the fact is in the row of the check.

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{CheckRecord, UrlVerdict};

/// The field of [`CheckRecord`] that holds the verdicts.
const VERDICTS_FIELD: &str = "verdicts";

impl CheckRecord {
    /// Reads the bytes of the fact of a check to their end, and passes each verdict on, in the order
    /// of the requests. The inner result is the first error of `each`, which ends the reading.
    pub fn read_verdicts<E>(
        from: impl Read,
        mut each: impl FnMut(UrlVerdict) -> Result<(), E>,
    ) -> Result<Result<(), E>, serde_json::Error> {
        let mut stopped = None;
        let mut pass = |verdict| each(verdict).map_err(|error| stopped = Some(error)).is_ok();
        let mut json = serde_json::Deserializer::from_reader(BufReader::new(from));
        let read = FactSeed(&mut pass).deserialize(&mut json).and_then(|()| json.end());
        match stopped {
            Some(error) => Ok(Err(error)),
            None => read.map(Ok),
        }
    }
}

/// Takes a verdict, and returns whether more are wanted.
type TakeVerdict<'a> = &'a mut dyn FnMut(UrlVerdict) -> bool;

/// The whole fact.
struct FactSeed<'a>(TakeVerdict<'a>);

impl<'de> DeserializeSeed<'de> for FactSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FactSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a check")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            match name == VERDICTS_FIELD {
                true => fields.next_value_seed(VerdictsSeed(&mut *self.0))?,
                false => fields.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }
}

/// The list of verdicts.
struct VerdictsSeed<'a>(TakeVerdict<'a>);

impl<'de> DeserializeSeed<'de> for VerdictsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for VerdictsSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of verdicts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut verdicts: A) -> Result<(), A::Error> {
        while let Some(verdict) = verdicts.next_element()? {
            if !(self.0)(verdict) {
                return Err(A::Error::custom("no more verdicts are wanted"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::VerdictKind;
    use crate::{Moment, RunId};
    use std::collections::BTreeMap;
    use uuid::Uuid;

    fn check() -> Vec<u8> {
        let verdict = |number: u8| UrlVerdict {
            url: format!("https://example.com/{number}"),
            time: Moment::from_seconds(number.into()),
            verdict: VerdictKind::Broken,
            status: Some(404),
            detail: super::super::VerdictDetail { got: Some("404".to_owned()), ..Default::default() },
        };
        let check = CheckRecord {
            run: RunId::new(Uuid::from_u128(1)),
            time: Moment::from_seconds(9),
            message: "verdicts".to_owned(),
            author: None,
            expectations: BTreeMap::new(),
            verdicts: (1..4).map(verdict).collect(),
        };
        serde_json::to_vec(&check).unwrap()
    }

    #[test]
    fn verdicts_are_those_of_the_whole_fact() {
        let bytes = check();
        let mut found = Vec::new();
        let read = CheckRecord::read_verdicts(&bytes[..], |verdict| {
            found.push(verdict);
            Ok::<(), ()>(())
        });
        assert_eq!(read.unwrap(), Ok(()));
        assert_eq!(found, serde_json::from_slice::<CheckRecord>(&bytes).unwrap().verdicts);
    }

    #[test]
    fn the_caller_ends_the_reading_and_junk_is_an_error() {
        let bytes = check();
        let mut count = 0;
        let read = CheckRecord::read_verdicts(&bytes[..], |verdict| {
            count += 1;
            Err(verdict.url)
        });
        assert_eq!((read.unwrap(), count), (Err("https://example.com/1".to_owned()), 1));
        let ignore = |_| Ok::<(), ()>(());
        for junk in
            [&bytes[..bytes.len() - 1], b"[]", b"", b"{\"verdicts\":{}}", b"{\"verdicts\":[1]}", b"{}x"]
        {
            assert!(CheckRecord::read_verdicts(junk, ignore).is_err(), "{:?}", String::from_utf8_lossy(junk));
        }
    }
}
