//! One end of a connection by OpenSSL, driven without blocking.

use openssl::error::ErrorStack;
use openssl::ssl::{Error, ErrorCode, Ssl, SslRef, SslStream};

use crate::ffi;
use crate::pipe::Pipe;

/// The fate of early data, according to OpenSSL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyData {
    /// None was offered.
    NotOffered,
    /// Offered, and not accepted.
    Rejected,
    /// Accepted.
    Accepted,
}

/// A connection of OpenSSL's.
pub struct OpensslEnd {
    stream: SslStream<Pipe>,
    /// The early data that is still unsent (a client).
    unsent_early_data: Vec<u8>,
    early_data_is_over: bool,
    /// The early data received (a server).
    pub early_data: Vec<u8>,
    /// The application data received.
    pub data: Vec<u8>,
    /// Whether the handshake is complete.
    pub complete: bool,
    /// The error that ended the connection.
    pub error: Option<String>,
}

impl OpensslEnd {
    /// Creates a client's end, with early data or none.
    pub(crate) fn client(mut ssl: Ssl, early_data: &[u8]) -> Result<Self, ErrorStack> {
        ssl.set_connect_state();
        let mut end = Self::new(ssl)?;
        end.unsent_early_data = early_data.to_vec();
        end.early_data_is_over = early_data.is_empty();
        Ok(end)
    }

    /// Creates a server's end.
    pub(crate) fn server(mut ssl: Ssl) -> Result<Self, ErrorStack> {
        ssl.set_accept_state();
        Self::new(ssl)
    }

    fn new(ssl: Ssl) -> Result<Self, ErrorStack> {
        Ok(Self {
            stream: SslStream::new(ssl, Pipe::default())?,
            unsent_early_data: Vec::new(),
            early_data_is_over: false,
            early_data: Vec::new(),
            data: Vec::new(),
            complete: false,
            error: None,
        })
    }

    pub(crate) fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    /// Returns the fate of the early data.
    pub fn early_data_status(&self) -> EarlyData {
        match ffi::early_data_status(self.ssl()) {
            None => EarlyData::NotOffered,
            Some(false) => EarlyData::Rejected,
            Some(true) => EarlyData::Accepted,
        }
    }

    /// Whether a PSK was used, and no certificate.
    pub fn resumed(&self) -> bool {
        self.ssl().session_reused()
    }

    /// Bytes arrive.
    pub fn deliver(&mut self, bytes: &[u8]) {
        self.stream.get_mut().deliver(bytes);
    }

    /// Does what can be done now, and takes the output.
    pub fn collect(&mut self) -> Vec<u8> {
        if self.error.is_none()
            && let Err(error) = self.advance()
            && !matches!(error.code(), ErrorCode::WANT_READ | ErrorCode::WANT_WRITE)
        {
            self.error = Some(error.to_string());
        }
        self.stream.get_mut().collect()
    }

    /// Sends application data.
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        let mut rest = data;
        while !rest.is_empty() {
            rest = &rest[self.stream.ssl_write(rest)?..];
        }
        Ok(())
    }

    /// Advances until it would block, which is an error too.
    fn advance(&mut self) -> Result<(), Error> {
        let mut buffer = [0; 4096];
        while !self.early_data_is_over {
            if self.stream.ssl().is_server() {
                let count = self.stream.read_early_data(&mut buffer)?;
                self.early_data.extend_from_slice(&buffer[..count]);
                self.early_data_is_over = count == 0;
            } else {
                let count = self.stream.write_early_data(&self.unsent_early_data)?;
                self.unsent_early_data.drain(..count);
                self.early_data_is_over = self.unsent_early_data.is_empty();
            }
        }
        if !self.complete {
            self.stream.do_handshake()?;
            self.complete = true;
        }
        loop {
            let count = self.stream.ssl_read(&mut buffer)?;
            self.data.extend_from_slice(&buffer[..count]);
        }
    }
}
