//! Tokens against the vectors of RFC 7515 and against forgeries.

use super::*;

/// The key of RFC 7515, appendix A.1, in standard base64.
const RFC_KEY: &str =
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ+EstJQLr/T+1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==";
/// The token of RFC 7515, appendix A.1: issued by `joe`, with white space in its JSON.
const RFC_TOKEN: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9\
    .eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ\
    .dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// When the token of the RFC expires.
const RFC_EXPIRY: i64 = 1_300_819_380;
const NOW: i64 = 1_800_000_000;

fn key() -> SigningKey {
    SigningKey::parse(RFC_KEY).unwrap()
}

fn claims() -> TokenClaims {
    TokenClaims::new("ada", DEFAULT_AUDIENCE, NOW, NOW + 3600)
}

/// A token of these JSON texts that is signed with the right key.
fn signed(header: &str, payload: &str) -> String {
    let part = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let signed = format!("{}.{}", part(header), part(payload));
    let signature = hmac::sign(&key().0, signed.as_bytes());
    format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
}

fn verified(payload: &str) -> Result<TokenClaims, TokenError> {
    key().verify(&signed(r#"{"alg":"HS256"}"#, payload), NOW)
}

#[test]
fn the_vector_of_rfc_7515_is_verified() {
    // Its signature is valid, and its issuer is not ours.
    assert_eq!(key().verify(RFC_TOKEN, RFC_EXPIRY - 1), Err(TokenError::Issuer));
    assert_eq!(key().verify(RFC_TOKEN, RFC_EXPIRY + 61), Err(TokenError::Expired));
    let shown = TokenClaims::read_unverified(RFC_TOKEN).unwrap();
    assert_eq!((shown.issuer.as_str(), shown.expires), ("joe", Some(RFC_EXPIRY)));
    let other = SigningKey::parse(&SigningKey::generate().unwrap()).unwrap();
    assert_eq!(other.verify(RFC_TOKEN, RFC_EXPIRY - 1), Err(TokenError::Signature));
}

#[test]
fn every_changed_character_of_a_token_is_found() {
    let token = key().sign(&claims());
    assert_eq!(key().verify(&token, NOW).unwrap(), claims());
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(key().verify(&changed, NOW).is_err(), "character {at}: {changed}");
    }
    for end in 0..token.len() {
        assert!(key().verify(&token[..end], NOW).is_err(), "{end} characters");
    }
}

#[test]
fn a_token_cannot_choose_its_algorithm() {
    let payload = claims().to_json().to_string();
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS384"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"typ":"JWT"}"#,
        r#"{"alg":"HS256","crit":["b64"],"b64":false}"#,
    ] {
        assert_eq!(key().verify(&signed(header, &payload), NOW), Err(TokenError::Algorithm), "{header}");
    }
    let unsigned = signed(r#"{"alg":"none"}"#, &payload);
    let unsigned = &unsigned[..=unsigned.rfind('.').unwrap()];
    assert_eq!(key().verify(unsigned, NOW), Err(TokenError::Algorithm));
    let no_signature = signed(r#"{"alg":"HS256"}"#, &payload);
    let no_signature = &no_signature[..=no_signature.rfind('.').unwrap()];
    assert_eq!(key().verify(no_signature, NOW), Err(TokenError::Signature));
}

#[test]
fn malformed_tokens_are_refused() {
    let token = key().sign(&claims());
    let (header, rest) = token.split_once('.').unwrap();
    let wrong = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "a.b".to_owned(),
        header.to_owned(),
        format!("{token}.x"),
        format!("{token}="),
        format!("{token} "),
        format!("{header}=.{rest}"),
        format!("\u{e9}{token}"),
        format!("{}.{rest}", BASE64URL_NOPAD.encode(b"[]")),
        format!("{}.{rest}", BASE64URL_NOPAD.encode(b"\xff")),
        "a".repeat(MAX_TOKEN_BYTES + 1),
    ];
    for token in wrong {
        let error = key().verify(&token, NOW).unwrap_err();
        assert!(matches!(error, TokenError::Malformed | TokenError::Signature), "{token}: {error}");
    }
    for payload in ["[]", "1", "{", r#"{"iss":1}"#, r#"{"iss":"scrape","sub":"a","exp":"x"}"#] {
        assert_eq!(verified(payload), Err(TokenError::Malformed), "{payload}");
    }
}

#[test]
fn claims_are_verified_with_a_leeway_of_a_minute() {
    let at = |claim: &str, seconds: i64| {
        verified(&format!(r#"{{"iss":"scrape","sub":"ada","{claim}":{}}}"#, NOW + seconds)).map(|_| ())
    };
    assert_eq!(at("exp", -59), Ok(()));
    assert_eq!(at("exp", -60), Err(TokenError::Expired));
    assert_eq!(at("iat", 60), Ok(()));
    assert_eq!(at("iat", 61), Err(TokenError::IssuedLater));
    assert_eq!(at("nbf", 60), Ok(()));
    assert_eq!(at("nbf", 61), Err(TokenError::NotYetValid));
    // A token without `exp` does not expire, and fractions of seconds are allowed.
    assert_eq!(verified(r#"{"iss":"scrape","sub":"ada"}"#).unwrap().expires, None);
    assert_eq!(verified(r#"{"iss":"scrape","sub":"ada","exp":1800000000.5}"#).unwrap().expires, Some(NOW));
    assert!(verified(r#"{"iss":"scrape","sub":"ada","exp":1e300}"#).is_ok());
    assert_eq!(verified(r#"{"iss":"scrape","sub":"ada","exp":-1e300}"#), Err(TokenError::Expired));
    assert_eq!(verified(r#"{"iss":"scrape","sub":""}"#), Err(TokenError::NoSubject));
    assert_eq!(verified(r#"{"iss":"scrape"}"#), Err(TokenError::NoSubject));
    assert_eq!(verified(r#"{"sub":"ada"}"#), Err(TokenError::Issuer));
    assert_eq!(verified(r#"{"iss":"Scrape","sub":"ada"}"#), Err(TokenError::Issuer));
    assert_eq!(verified(r#"{"iss":"scrape","sub":"ada","aud":"one"}"#).unwrap().audience, ["one"]);
}

#[test]
fn keys_are_long_enough_and_hidden() {
    let generated = SigningKey::generate().unwrap();
    assert_ne!(generated, SigningKey::generate().unwrap());
    let key = SigningKey::parse(&format!(" {generated}\n")).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey([hidden])");
    assert_eq!(SigningKey::parse("c2hvcnQ=").unwrap_err(), SigningKeyError::TooShort { bytes: 5 });
    for text in ["*", "c2hvcnQ", RFC_KEY.trim_end_matches('=')] {
        let error = SigningKey::parse(text).unwrap_err();
        assert_eq!(error, SigningKeyError::NotBase64);
        assert!(!error.to_string().contains(text));
    }
}
