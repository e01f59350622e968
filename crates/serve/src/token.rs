//! Access tokens of the API: JSON Web Tokens (RFC 7519) that are signed with HMAC SHA-256.
//!
//! Owns keys, claims, signing and verification, and nothing of HTTP. One algorithm, one issuer and
//! one key at a time are all that is needed, so the compact form of RFC 7515 is read and written
//! here. The signature is made and compared by `ring`, in constant time, and is verified before any
//! claim is parsed.

use std::fmt;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value, json};

/// The issuer that every token names. It is that of scrape, whose clients and tokens stay valid.
const TOKEN_ISSUER: &str = "scrape";
/// The audience of a token if none is chosen. It is recorded and not verified.
pub const DEFAULT_AUDIENCE: &str = "moz";
/// The only accepted signature algorithm.
const SIGNATURE_ALGORITHM: &str = "HS256";
/// By how many seconds the clocks of issuer and server may differ.
const CLOCK_LEEWAY_SECONDS: i64 = 60;
/// Bytes of a key: RFC 7518, section 3.2, requires at least the size of the hash.
const MIN_KEY_BYTES: usize = 32;
/// Longer tokens are refused unread.
const MAX_TOKEN_BYTES: usize = 8 << 10;

/// The key that signs and verifies tokens. `Debug` does not show it.
#[derive(Clone)]
pub struct SigningKey(hmac::Key);

/// Why a text is not a signing key. The text is never part of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyError {
    /// Not base64.
    #[error("the signing key is not base64 (standard alphabet, with padding)")]
    NotBase64,
    /// Too few bytes.
    #[error("the signing key has {bytes} bytes, and needs at least {MIN_KEY_BYTES}")]
    TooShort {
        /// How many bytes it has.
        bytes: usize,
    },
    /// The system has no random numbers.
    #[error("the system returned no random numbers")]
    NoRandomNumbers,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey([hidden])")
    }
}

impl SigningKey {
    /// Parses a key in standard base64. White space around it is ignored.
    pub fn parse(text: &str) -> Result<Self, SigningKeyError> {
        let bytes = BASE64.decode(text.trim().as_bytes()).map_err(|_| SigningKeyError::NotBase64)?;
        if bytes.len() < MIN_KEY_BYTES {
            return Err(SigningKeyError::TooShort { bytes: bytes.len() });
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// A new random key as text, for [`SigningKey::parse`].
    pub fn generate() -> Result<String, SigningKeyError> {
        let mut bytes = [0; MIN_KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| SigningKeyError::NoRandomNumbers)?;
        Ok(BASE64.encode(&bytes))
    }

    /// A signed token with these claims.
    pub fn sign(&self, claims: &TokenClaims) -> String {
        let header = json!({ "alg": SIGNATURE_ALGORITHM, "typ": "JWT" });
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(&claims.to_json()));
        let signature = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }

    /// The claims of a token that is valid at `now`, in seconds since 1970.
    pub fn verify(&self, token: &str, now: i64) -> Result<TokenClaims, TokenError> {
        let parts = TokenParts::split(token)?;
        parts.check_header()?;
        let signature = decode(parts.signature)?;
        hmac::verify(&self.0, parts.signed.as_bytes(), &signature).map_err(|_| TokenError::Signature)?;
        let claims = TokenClaims::from_json(&decode_object(parts.payload)?)?;
        claims.check(now)?;
        Ok(claims)
    }
}

/// What a token says about its holder. Times are seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenClaims {
    /// Who issued it.
    pub issuer: String,
    /// Who holds it.
    pub subject: String,
    /// Who it is for; not verified.
    pub audience: Vec<String>,
    /// When it expires; never if absent.
    pub expires: Option<i64>,
    /// From when on it is valid.
    pub not_before: Option<i64>,
    /// When it was issued.
    pub issued: Option<i64>,
}

/// Why a token is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three parts of base64url, of which the first two are JSON objects, or a claim has a wrong
    /// type.
    #[error("token is malformed")]
    Malformed,
    /// Signed with another algorithm, or with an extension that is not supported.
    #[error("signing method is invalid")]
    Algorithm,
    /// Not signed with this key, or changed.
    #[error("signature is invalid")]
    Signature,
    /// Issued by another program.
    #[error("token has invalid issuer")]
    Issuer,
    /// Nobody is named as holder.
    #[error("subject is required")]
    NoSubject,
    /// Expired.
    #[error("token is expired")]
    Expired,
    /// Not valid yet.
    #[error("token is not valid yet")]
    NotYetValid,
    /// Issued in the future.
    #[error("token used before issued")]
    IssuedLater,
}

impl TokenError {
    /// Whether the token may not be from the holder of the key; otherwise only a claim is wrong.
    pub fn concerns_signature(self) -> bool {
        matches!(self, Self::Malformed | Self::Algorithm | Self::Signature)
    }
}

impl TokenClaims {
    /// Claims for a new token, issued at `now`.
    pub fn new(subject: &str, audience: &str, now: i64, expires: i64) -> Self {
        Self {
            issuer: TOKEN_ISSUER.to_owned(),
            subject: subject.to_owned(),
            audience: vec![audience.to_owned()],
            expires: Some(expires),
            not_before: None,
            issued: Some(now),
        }
    }

    /// The claims of a token whose signature is not verified: for showing them, and for nothing else.
    pub fn read_unverified(token: &str) -> Result<Self, TokenError> {
        Self::from_json(&decode_object(TokenParts::split(token)?.payload)?)
    }

    /// Fails if the claims are not valid at `now`.
    pub fn check(&self, now: i64) -> Result<(), TokenError> {
        let earliest = now.saturating_sub(CLOCK_LEEWAY_SECONDS);
        let latest = now.saturating_add(CLOCK_LEEWAY_SECONDS);
        if self.expires.is_some_and(|time| time <= earliest) {
            return Err(TokenError::Expired);
        }
        if self.not_before.is_some_and(|time| time > latest) {
            return Err(TokenError::NotYetValid);
        }
        if self.issued.is_some_and(|time| time > latest) {
            return Err(TokenError::IssuedLater);
        }
        if self.issuer != TOKEN_ISSUER {
            return Err(TokenError::Issuer);
        }
        if self.subject.is_empty() { Err(TokenError::NoSubject) } else { Ok(()) }
    }

    /// The claims under their registered names (RFC 7519, section 4.1).
    pub fn to_json(&self) -> Value {
        let mut claims = Map::new();
        claims.insert("iss".to_owned(), json!(self.issuer));
        claims.insert("sub".to_owned(), json!(self.subject));
        claims.insert("aud".to_owned(), json!(self.audience));
        let times = [("exp", self.expires), ("nbf", self.not_before), ("iat", self.issued)];
        for (name, time) in times {
            if let Some(time) = time {
                claims.insert(name.to_owned(), json!(time));
            }
        }
        Value::Object(claims)
    }

    fn from_json(claims: &Map<String, Value>) -> Result<Self, TokenError> {
        Ok(Self {
            issuer: text_claim(claims, "iss")?,
            subject: text_claim(claims, "sub")?,
            audience: audience_claim(claims)?,
            expires: time_claim(claims, "exp")?,
            not_before: time_claim(claims, "nbf")?,
            issued: time_claim(claims, "iat")?,
        })
    }
}

/// The parts of a token, still encoded.
struct TokenParts<'a> {
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
    /// The bytes that the signature covers.
    signed: &'a str,
}

impl<'a> TokenParts<'a> {
    fn split(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        if payload.contains('.') {
            return Err(TokenError::Malformed);
        }
        Ok(Self { header, payload, signature, signed })
    }

    /// Accepts one algorithm, so a token cannot choose how it is verified. An extension that its
    /// issuer marks as critical is not supported.
    fn check_header(&self) -> Result<(), TokenError> {
        let header = decode_object(self.header)?;
        let is_expected = header.get("alg").and_then(Value::as_str) == Some(SIGNATURE_ALGORITHM);
        if is_expected && !header.contains_key("crit") { Ok(()) } else { Err(TokenError::Algorithm) }
    }
}

fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| TokenError::Malformed)
}

fn decode_object(part: &str) -> Result<Map<String, Value>, TokenError> {
    serde_json::from_slice(&decode(part)?).map_err(|_| TokenError::Malformed)
}

/// A claim that is a text; empty if it is absent.
fn text_claim(claims: &Map<String, Value>, name: &str) -> Result<String, TokenError> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(TokenError::Malformed),
    }
}

/// A claim that is a time. RFC 7519 allows fractions of seconds; they are dropped.
fn time_claim(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>, TokenError> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(time)) => {
            #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and no time is that far")]
            let whole = time.as_i64().or_else(|| time.as_f64().map(|time| time.floor() as i64));
            whole.map(Some).ok_or(TokenError::Malformed)
        }
        Some(_) => Err(TokenError::Malformed),
    }
}

/// The audience, which may be one text or a list of texts.
fn audience_claim(claims: &Map<String, Value>) -> Result<Vec<String>, TokenError> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(TokenError::Malformed);
    match claims.get("aud") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => values.iter().map(text).collect(),
        Some(value) => Ok(vec![text(value)?]),
    }
}

#[cfg(test)]
mod tests;
