//! The runner's own forms of certificates (RFC 8879), which compress nothing.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tessera::auth::{CertificateCodecFactory, CertificateCompression, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;

use crate::options::Options;

/// Returns the forms that the flags install, in the runner's order.
pub fn installed(options: &Options) -> Vec<Arc<dyn CertificateCodecFactory>> {
    let wanted = |form: &Form| {
        options.cert_compression || options.one_cert_compression == Some(form.code_point())
    };
    let forms = [Form::Expanding, Form::Shrinking, Form::Random].into_iter().filter(wanted);
    forms.map(|form| Arc::new(form) as _).collect()
}

#[derive(Clone, Copy)]
enum Form {
    /// Four bytes precede the message.
    Expanding,
    /// The first two bytes, which are always 0, are left out.
    Shrinking,
    /// A byte that is different each time precedes the message.
    Random,
}

const EXPANDING: &[u8] = &[1, 2, 3, 4];
const SHRINKING: &[u8] = &[0, 0];

impl Form {
    fn code_point(self) -> u16 {
        match self {
            Self::Shrinking => 0xff01,
            Self::Expanding => 0xff02,
            Self::Random => 0xff03,
        }
    }
}

impl CertificateCompression for Form {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(self.code_point())
    }

    fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Expanding => Some([EXPANDING, body].concat()),
            Self::Shrinking => body.strip_prefix(SHRINKING).map(<[u8]>::to_vec),
            Self::Random => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Some([&[now.subsec_nanos() as u8], body].concat())
            }
        }
    }

    fn decompress(
        &self,
        compressed: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded> {
        let (prefix, rest): (&[u8], _) = match self {
            Self::Expanding => (&[], compressed.strip_prefix(EXPANDING)),
            Self::Shrinking => (SHRINKING, Some(compressed)),
            Self::Random => (&[], compressed.get(1..)),
        };
        let decoded = [prefix, rest.ok_or(CertificateNotDecoded::Malformed)?].concat();
        body.get_mut(..decoded.len())
            .ok_or(CertificateNotDecoded::Malformed)?
            .copy_from_slice(&decoded);
        Ok(decoded.len())
    }
}
