//! One connection, with the ways to end it badly.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The byte stream: the socket, or TLS over it.
pub(super) trait Transport: Read + Write + Send {}

impl<T: Read + Write + Send> Transport for T {}

/// A connection to one client.
pub struct Connection {
    transport: Box<dyn Transport>,
    socket: TcpStream,
    stopped: Arc<AtomicBool>,
}

impl Connection {
    pub(super) fn new(transport: Box<dyn Transport>, socket: TcpStream, stopped: Arc<AtomicBool>) -> Self {
        Self { transport, socket, stopped }
    }

    pub(super) fn transport(&mut self) -> &mut dyn Transport {
        &mut *self.transport
    }

    /// Sends bytes at once.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.transport.write_all(bytes.as_ref())?;
        self.transport.flush()
    }

    /// Whether the test is over, so that endless responses must end.
    pub fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Waits, unless the test is over.
    pub fn wait(&self, time: Duration) {
        let step = Duration::from_millis(5);
        let mut left = time;
        while !left.is_zero() && !self.is_over() {
            std::thread::sleep(left.min(step));
            left = left.saturating_sub(step);
        }
    }

    /// Ends the connection with a reset instead of a shutdown.
    pub fn reset(&mut self) -> io::Result<()> {
        // Closing with unsent bytes and no linger time makes the system send a reset.
        rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO))?;
        Ok(())
    }

    /// Ends the sending side only.
    pub fn finish(&mut self) -> io::Result<()> {
        self.transport.flush()?;
        self.socket.shutdown(Shutdown::Write)
    }
}
