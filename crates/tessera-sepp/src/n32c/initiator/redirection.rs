//! Targets of a 307.

use http::Uri;
use http::header::LOCATION;

use crate::n32c::failure::Failure;
use crate::n32c::messages::{ExtRedirectResponse, decode};
use crate::n32c::transport::{Reply, Target};

/// A 307 to another SEPP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirection {
    pub target: Target,
}

impl Redirection {
    /// Reads a 307. `Location` has the target, else the body: the name for discovery, or the apiRoot of a SEPP.
    pub fn read(reply: &Reply) -> Result<Self, Failure> {
        if let Some(location) = reply.headers.get(LOCATION) {
            let location =
                location.to_str().map_err(|_| none("to a Location that is not a URI"))?;
            return Self::to_uri(location);
        }
        let body = decode::<ExtRedirectResponse>(&reply.body)
            .map_err(|error| Failure::Redirection(format!("with a malformed body: {error}")))?;
        match (body.sepp_fqdn_for_discovery, body.target_sepp) {
            (Some(fqdn), _) => Ok(Self { target: Target::of(&fqdn) }),
            (None, Some(uri)) => Self::to_uri(&uri),
            (None, None) => Err(none("without a target")),
        }
    }

    fn to_uri(uri: &str) -> Result<Self, Failure> {
        let uri: Uri = uri.parse().map_err(|_| none("to something that is not a URI"))?;
        if uri.scheme_str() != Some("https") {
            return Err(none("to a URI without https"));
        }
        let host = uri.host().unwrap_or_default();
        let fqdn = host.parse().map_err(|_| none("to an address that is not a name"))?;
        Ok(Self { target: Target { fqdn, port: uri.port_u16() } })
    }
}

fn none(why: &str) -> Failure {
    Failure::Redirection(why.to_owned())
}
