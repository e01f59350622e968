//! SOCKS 5 (RFC 1928, RFC 1929): names are given to the proxy as names.

use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use varve_core::secret::Secret;

use super::{ProxyLogin, broken, refused};
use crate::error::FetchError;
use crate::request_target::ServerOrigin;

const SOCKS_VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const PASSWORD_LOGIN: u8 = 2;

pub(super) async fn open_tunnel(
    stream: &mut TcpStream,
    origin: &ServerOrigin,
    login: Option<&Secret<ProxyLogin>>,
) -> Result<(), FetchError> {
    greet(stream, login).await?;
    stream.write_all(&request(origin)?).await.map_err(broken)?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await.map_err(broken)?;
    if answer[0] != SOCKS_VERSION {
        return Err(refused("the proxy does not speak SOCKS 5"));
    }
    if answer[1] != 0 {
        return Err(refused(format!(
            "the proxy cannot reach `{}`: {}",
            origin.host_and_port(),
            reason(answer[1])
        )));
    }
    skip_address(stream, answer[3]).await
}

async fn greet(stream: &mut TcpStream, login: Option<&Secret<ProxyLogin>>) -> Result<(), FetchError> {
    let offer: &[u8] = if login.is_some() {
        &[SOCKS_VERSION, 2, NO_LOGIN, PASSWORD_LOGIN]
    } else {
        &[SOCKS_VERSION, 1, NO_LOGIN]
    };
    stream.write_all(offer).await.map_err(broken)?;
    let mut choice = [0; 2];
    stream.read_exact(&mut choice).await.map_err(broken)?;
    match (choice, login) {
        ([SOCKS_VERSION, NO_LOGIN], _) => Ok(()),
        ([SOCKS_VERSION, PASSWORD_LOGIN], Some(login)) => log_in(stream, login.expose()).await,
        ([SOCKS_VERSION, _], _) => Err(refused("the proxy wants another login")),
        _ => Err(refused("the proxy does not speak SOCKS 5")),
    }
}

async fn log_in(stream: &mut TcpStream, login: &ProxyLogin) -> Result<(), FetchError> {
    let mut message = vec![1];
    for part in [&login.name, &login.password] {
        let length = u8::try_from(part.len()).map_err(|_| refused("the login for the proxy is too long"))?;
        message.push(length);
        message.extend_from_slice(part.as_bytes());
    }
    stream.write_all(&message).await.map_err(broken)?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await.map_err(broken)?;
    if answer[1] == 0 { Ok(()) } else { Err(refused("the proxy refuses the login")) }
}

fn request(origin: &ServerOrigin) -> Result<Vec<u8>, FetchError> {
    let mut message = vec![SOCKS_VERSION, 1, 0];
    match origin.bare_host().parse() {
        Ok(IpAddr::V4(address)) => {
            message.push(1);
            message.extend_from_slice(&address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            message.push(4);
            message.extend_from_slice(&address.octets());
        }
        Err(_) => {
            let name = origin.bare_host().as_bytes();
            let length = u8::try_from(name.len()).map_err(|_| refused("the name of the host is too long"))?;
            message.extend_from_slice(&[3, length]);
            message.extend_from_slice(name);
        }
    }
    message.extend_from_slice(&origin.port.to_be_bytes());
    Ok(message)
}

async fn skip_address(stream: &mut TcpStream, kind: u8) -> Result<(), FetchError> {
    let length = match kind {
        1 => 4,
        3 => usize::from(stream.read_u8().await.map_err(broken)?),
        4 => 16,
        _ => return Err(refused("the proxy does not speak SOCKS 5")),
    };
    let mut rest = vec![0; length + 2];
    stream.read_exact(&mut rest).await.map_err(broken)?;
    Ok(())
}

fn reason(code: u8) -> &'static str {
    match code {
        2 => "it may not",
        3 => "the network is unreachable",
        4 => "the host is unreachable",
        5 => "the connection was refused",
        6 => "it took too long",
        7 | 8 => "it does not know how",
        _ => "it failed",
    }
}
