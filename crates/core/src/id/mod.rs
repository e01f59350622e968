//! The registry of identifiers: every kind of id in varve, each with its own type.
//!
//! One macro defines all of them, so that they parse, print, order and serialise in the same way,
//! and the compiler tells them apart. A new kind is one line in [the registry](self) below. Nothing
//! here hashes: the code that has the bytes computes the digest.

mod error;
mod form;
mod prefix;

pub use error::IdError;
pub use prefix::IdPrefix;

use form::{Hex, Hyphenated, IdForm, Urn};
use uuid::Uuid;

/// Makes one kind of identifier. `text` ids print and serialise as text, `number` ids as decimal
/// numbers.
macro_rules! identifier {
    ($(#[$doc:meta])* text $name:ident, $inner:ty, $form:ty, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($inner);

        impl $name {
            /// The words that messages use for this kind of id.
            pub const KIND: &'static str = $kind;

            /// Names the thing that these bytes identify.
            pub const fn new(inner: $inner) -> Self {
                Self(inner)
            }

            /// The value inside.
            pub const fn into_inner(self) -> $inner {
                self.0
            }

            /// The bytes of the id, most significant first, which is also their order.
            pub const fn as_bytes(&self) -> &[u8; size_of::<$inner>()] {
                <$form>::bytes(&self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                <$form as IdForm>::write(&self.0, f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                <$form as IdForm>::read(text, $kind).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
    ($(#[$doc:meta])* number $name:ident, $inner:ty, $bits:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "u64", into = "u64")]
        pub struct $name($inner);

        impl $name {
            /// The words that messages use for this kind of number.
            pub const KIND: &'static str = $kind;
            /// How many bits a value may have.
            pub const BITS: u32 = $bits;
            /// The greatest value.
            pub const MAX: Self = Self((1 << $bits) - 1);

            /// The number, if it is not greater than [`Self::MAX`].
            pub const fn new(value: u64) -> Result<Self, IdError> {
                if value > Self::MAX.0 as u64 {
                    return Err(IdError::TooGreat { kind: $kind, bits: $bits, value });
                }
                Ok(Self(value as $inner))
            }

            /// The number as a plain integer.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl TryFrom<u64> for $name {
            type Error = IdError;

            fn try_from(value: u64) -> Result<Self, IdError> {
                Self::new(value)
            }
        }

        impl From<$name> for u64 {
            fn from(number: $name) -> u64 {
                u64::from(number.0)
            }
        }
    };
}

identifier! {
    /// A body: the SHA-256 of its bytes, written as 64 hex digits.
    text BodyId, [u8; 32], Hex, "body id"
}
identifier! {
    /// A record in a silo, written `urn:sha256:` and 64 hex digits. Bare hex digits are read as
    /// well.
    text RecordId, [u8; 32], Urn, "record id"
}
identifier! {
    /// The manifest of a version: the SHA-256 of its bytes, of which the id of the version is a part.
    text ManifestDigest, [u8; 32], Hex, "manifest digest"
}
identifier! {
    /// A process that fetches URLs of a run.
    text WorkerId, Uuid, Hyphenated, "worker id"
}
identifier! {
    /// A version: one committed set of captures.
    text VersionId, Uuid, Hyphenated, "version id"
}
identifier! {
    /// A capture: one URL at one instant.
    text CaptureId, Uuid, Hyphenated, "capture id"
}
identifier! {
    /// A check: the verdicts of one comparison with the live web.
    text CheckId, Uuid, Hyphenated, "check id"
}
identifier! {
    /// A run: one crawl, from its first request to the version that it becomes, or one check.
    text RunId, Uuid, Hyphenated, "run id"
}
identifier! {
    /// The number of a silo. It has 20 bits, because an index entry has no more space for it.
    number SiloNo, u32, 20, "silo number"
}
identifier! {
    /// The look-up number of a URL. It is internal, never shown to users, and never an identity,
    /// since two URLs may share one. It has 63 bits, so that it fits a signed 64-bit column.
    number UrlKey, u64, 63, "url key"
}

impl RecordId {
    /// The id of the `resource` record with exactly this body. A store also finds a response with
    /// this body under it.
    pub const fn of_body(body: BodyId) -> Self {
        Self(body.0)
    }

    /// The body of the `resource` record with this id.
    pub const fn body(self) -> BodyId {
        BodyId(self.0)
    }
}

impl UrlKey {
    /// The key of texts that have none of their own.
    pub const ZERO: Self = Self(0);

    /// The seven bits that come from the host, by which captures are partitioned.
    pub const fn domain_bits(self) -> u8 {
        (self.0 >> 56) as u8
    }

    /// The key as a signed integer, the form in which databases keep it.
    pub const fn to_signed(self) -> i64 {
        self.0.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn record_ids_print_as_urns_and_read_bare_hex() {
        let id = RecordId::new([0xab; 32]);
        let text = format!("urn:sha256:{}", "ab".repeat(32));
        assert_eq!(id.to_string(), text);
        assert_eq!(text.parse::<RecordId>(), Ok(id));
        assert_eq!("AB".repeat(32).parse::<RecordId>(), Ok(id));
        assert_eq!(format!("{id:?}"), format!("RecordId({text})"));
    }

    #[test]
    fn body_ids_do_not_read_urns() {
        let error = format!("urn:sha256:{}", "ab".repeat(32)).parse::<BodyId>().unwrap_err();
        assert_eq!(error.to_string(), "body id: expected 64 hex digits, found 75 characters");
    }

    #[test]
    fn errors_say_what_and_where() {
        let said = |text: &str| text.parse::<BodyId>().unwrap_err().to_string();
        assert_eq!(said("abc"), "body id: expected 64 hex digits, found 3 characters");
        assert_eq!(said(&format!("abcg{}", "0".repeat(60))), "body id: `g` at position 3 is not a hex digit");
        assert_eq!(said(&format!("é{}", "0".repeat(63))), "body id: `é` at position 0 is not a hex digit");
        let urn = format!("urn:sha256:{}x", "0".repeat(63)).parse::<RecordId>().unwrap_err();
        assert_eq!(urn.to_string(), "record id: `x` at position 74 is not a hex digit");
        assert!("not-a-uuid".parse::<VersionId>().unwrap_err().to_string().starts_with("version id: "));
    }

    #[test]
    fn silo_numbers_have_twenty_bits() {
        assert_eq!(SiloNo::new(1_048_575).map(SiloNo::get), Ok(1_048_575));
        let error = SiloNo::new(1_048_576).unwrap_err();
        assert_eq!(error.to_string(), "silo number: 1048576 does not fit 20 bits");
        assert!(serde_json::from_str::<SiloNo>("1048576").is_err());
    }

    #[test]
    fn url_keys_serialise_as_numbers() {
        let key = UrlKey::new(6_447_794_946_650_030_128).unwrap();
        assert_eq!(serde_json::to_string(&key).unwrap(), "6447794946650030128");
        assert_eq!(serde_json::from_str::<UrlKey>("6447794946650030128").unwrap(), key);
        assert_eq!(key.domain_bits(), 89);
        assert!(UrlKey::new(1 << 63).is_err());
    }

    #[test]
    fn ids_are_text_in_json() {
        let id: VersionId = "2b1f8e1e-8a3c-4c39-9d0f-0f3a5b6c7d8e".parse().unwrap();
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"2b1f8e1e-8a3c-4c39-9d0f-0f3a5b6c7d8e\"");
        assert_eq!(serde_json::from_str::<VersionId>(&json).unwrap(), id);
        assert!(serde_json::from_str::<BodyId>("\"12\"").is_err());
    }

    proptest! {
        #[test]
        fn text_and_order_follow_the_bytes(a: [u8; 32], b: [u8; 32]) {
            let (left, right) = (BodyId::new(a), BodyId::new(b));
            prop_assert_eq!(left.to_string().parse(), Ok(left));
            prop_assert_eq!(left.cmp(&right), left.to_string().cmp(&right.to_string()));
        }

        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = text.parse::<BodyId>();
            let _ = text.parse::<RecordId>();
            let _ = text.parse::<VersionId>();
            let _ = text.parse::<IdPrefix>();
        }
    }
}
