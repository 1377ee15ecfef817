//! The application under test: a request of fixed size, and a response as long.

use std::collections::HashMap;

use super::pipes::Result;
use crate::control::RequestId;

/// How long requests and responses are, in bytes.
pub(crate) const LEN: usize = 100;

/// Returns a request that no other equals.
pub(crate) fn fresh() -> Result<(RequestId, [u8; LEN])> {
    let mut id = [0; 8];
    let random = tessera_aws_lc::provider().random;
    random.fill(&mut id).map_err(|_| "no random bytes for a request")?;
    let mut request = [b'.'; LEN];
    request[..id.len()].copy_from_slice(&id);
    Ok((RequestId::from_be_bytes(id), request))
}

/// The server's application: it executes requests, and counts how often it did.
#[derive(Default)]
pub(crate) struct Application {
    executions: HashMap<RequestId, u32>,
}

impl Application {
    /// Executes the request in `received` and answers it; `None` until it is there whole.
    pub(crate) fn execute(&mut self, received: &[u8]) -> Option<[u8; LEN]> {
        let request = received.first_chunk::<LEN>()?;
        let id = RequestId::from_be_bytes(*request.first_chunk()?);
        *self.executions.entry(id).or_default() += 1;
        Some(*request)
    }

    /// Returns how often a request was executed.
    pub(crate) fn executions(&self, id: RequestId) -> u32 {
        self.executions.get(&id).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_labs_application_counts_every_execution() {
        let mut application = Application::default();
        let (id, request) = fresh().unwrap();
        assert_eq!(application.execute(&request[..LEN - 1]), None);
        assert_eq!(application.executions(id), 0);
        assert_eq!(application.execute(&request), Some(request));
        assert_eq!(application.execute(&request), Some(request));
        assert_eq!(application.executions(id), 2);
        assert_eq!(application.executions(!id), 0);
    }
}
