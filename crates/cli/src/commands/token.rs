//! `varve token`: makes keys, and issues and shows the tokens that give access to the API.

use serde_json::json;
use varve_archive::Moment;
use varve_serve::token::{DEFAULT_AUDIENCE, SigningKey, TokenClaims, TokenError};

use super::signing_key::SigningKeyArgs;
use crate::input::{MAX_LINE_BYTES, STDIN_ARGUMENT};
use crate::verb::{Error, ExitStatus, Session, Verb};
use crate::{clock, duration};

/// Make and show access tokens for the API of `varve serve`
///
/// With a signing key, `varve serve` answers requests of its extraction API only if they have a token
/// that was signed with it. Tokens are JSON Web Tokens (HS256), and cannot be revoked: a new key makes all
/// tokens invalid.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  varve token make-key > signing.key
  varve token issue --sub ada --signing-key-file signing.key
  varve serve --signing-key-file signing.key"
)]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(clap::Subcommand)]
enum TokenVerb {
    MakeKey(MakeKeyArgs),
    Issue(IssueArgs),
    Show(ShowTokenArgs),
}

impl Verb for TokenArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        match self.verb {
            TokenVerb::MakeKey(verb) => verb.run(session),
            TokenVerb::Issue(verb) => verb.run(session),
            TokenVerb::Show(verb) => verb.run(session),
        }
    }
}

/// Print a new random signing key
///
/// The key has 256 bits. Keep it: it cannot be made again, and who has it can issue tokens.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve token make-key > signing.key")]
struct MakeKeyArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl MakeKeyArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let key = SigningKey::generate().map_err(Error::SigningKey)?;
        match self.json {
            true => session.printer.json(&json!({ "key": key }))?,
            false => session.printer.line(key)?,
        }
        Ok(ExitStatus::Done)
    }
}

/// Print a token
///
/// The token alone is printed on standard output. Clients send it as `Authorization: Bearer TOKEN`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve token issue --sub ada --signing-key-file signing.key
  varve token issue --sub reader --exp 30d
  varve token issue --sub ada --exp 2027-01-01T00:00:00Z --json")]
struct IssueArgs {
    /// Who holds the token
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    sub: String,

    /// When it expires: a time, or a duration from now such as `12h` or `30d`
    #[arg(long, value_name = "TIME", default_value = "1y", value_parser = parse_expiry)]
    exp: i64,

    /// Who it is for; recorded in the token, and not verified
    #[arg(long, value_name = "NAME", default_value = DEFAULT_AUDIENCE)]
    aud: String,

    #[command(flatten)]
    key: SigningKeyArgs,

    /// Print one JSON object: `token` and `claims`
    #[arg(long)]
    json: bool,
}

impl IssueArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let claims = TokenClaims::new(&self.sub, &self.aud, clock::seconds(), self.exp);
        let token = self.key.require()?.sign(&claims);
        if self.json {
            session.printer.json(&json!({ "token": token, "claims": claims.to_json() }))?;
        } else {
            session.printer.line(token)?;
            session.printer.say(format_args!("for {}, until {}", self.sub, time_text(self.exp)));
        }
        Ok(ExitStatus::Done)
    }
}

/// Show what is in a token, and whether it is valid
///
/// Without a signing key, the claims are printed, and the signature is not verified.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  varve token show TOKEN --signing-key-file signing.key
  varve token issue --sub ada | varve token show -

Exit codes:
  0    the token is valid, or there is no key to verify it with
  1    it is not valid
  2    the key could not be read")]
struct ShowTokenArgs {
    /// The token; `-` reads it from standard input
    token: String,

    #[command(flatten)]
    key: SigningKeyArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl ShowTokenArgs {
    fn run(self, session: &mut Session) -> Result<ExitStatus, Error> {
        let key = self.key.read()?;
        let token = if self.token == STDIN_ARGUMENT { read_token()? } else { self.token };
        let claims = TokenClaims::read_unverified(token.trim());
        let failure = match (&key, &claims) {
            (Some(key), _) => key.verify(token.trim(), clock::seconds()).err(),
            (None, Ok(claims)) => claims.check(clock::seconds()).err(),
            (None, Err(error)) => Some(*error),
        };
        if self.json {
            session.printer.json(&json!({
                "valid": failure.is_none(),
                "signature_verified": key.is_some() && !failure.is_some_and(TokenError::concerns_signature),
                "problem": failure.map(|failure| failure.to_string()),
                "claims": claims.as_ref().ok().map(TokenClaims::to_json),
            }))?;
        } else {
            print_claims(claims.as_ref().ok(), session)?;
            match (failure, &key) {
                (Some(failure), _) => session.printer.say(format_args!("not valid: {failure}")),
                (None, Some(_)) => session.printer.say("valid"),
                (None, None) => {
                    session.printer.say("the signature was not verified: there is no signing key")
                }
            }
        }
        Ok(ExitStatus::of_findings(u64::from(failure.is_some())))
    }
}

fn print_claims(claims: Option<&TokenClaims>, session: &mut Session) -> Result<(), Error> {
    let Some(claims) = claims else { return Ok(()) };
    let visible = |text: &str| crate::printer::visible(text).into_owned();
    let time = |time: Option<i64>| time.map(time_text);
    let rows = [
        ("subject", Some(visible(&claims.subject))),
        ("issuer", Some(visible(&claims.issuer))),
        ("audience", Some(visible(&claims.audience.join(", ")))),
        ("issued", time(claims.issued)),
        ("valid from", time(claims.not_before)),
        ("expires", Some(time(claims.expires).unwrap_or_else(|| "never".to_owned()))),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            session.printer.line(format_args!("{name:<10}  {value}"))?;
        }
    }
    Ok(())
}

/// Parses when a token expires, in seconds since 1970.
fn parse_expiry(text: &str) -> Result<i64, String> {
    let after = duration::parse_with_unit(text).ok().and_then(|span| i64::try_from(span.as_secs()).ok());
    let time = match (after, text.parse::<Moment>()) {
        (Some(seconds), _) => clock::seconds().saturating_add(seconds),
        (None, Ok(time)) => time.seconds(),
        (None, Err(error)) => return Err(format!("{error}; or a duration: `12h`, `30d`, `1y`")),
    };
    if time > clock::seconds() { Ok(time) } else { Err("it is in the past".to_owned()) }
}

fn read_token() -> Result<String, Error> {
    let mut text = String::new();
    let limited = std::io::Read::take(std::io::stdin(), MAX_LINE_BYTES as u64);
    std::io::Read::read_to_string(&mut { limited }, &mut text).map_err(Error::Input)?;
    Ok(text)
}

/// A time as people read it. A number of seconds that no calendar reaches is shown as it is.
fn time_text(seconds: i64) -> String {
    const MAX_CALENDAR_SECONDS: i64 = 253_402_300_799;
    match (0..=MAX_CALENDAR_SECONDS).contains(&seconds) {
        true => Moment::from_seconds(seconds).to_string(),
        false => format!("{seconds} seconds after 1970"),
    }
}
