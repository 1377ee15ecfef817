//! A client's cache whose codecs something stands around.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CodecRefusal, FromClient, ToServer,
};
use tessera::wire::CertificateCompressionAlgorithm as Id;
use tessera_cache::ClientCache;

type Codec = Box<dyn CertificateCodec>;

/// Puts what the function gives around each codec.
pub(crate) struct Around<F>(pub(crate) Arc<ClientCache>, pub(crate) F);

impl<F: Fn(Codec) -> Codec + Send + Sync> CertificateCodecFactory for Around<F> {
    fn algorithms(&self) -> RangeInclusive<Id> {
        self.0.algorithms()
    }

    fn client_codec(self: Arc<Self>, to: &ToServer<'_>) -> Option<Codec> {
        self.0.clone().client_codec(to).map(&self.1)
    }

    fn server_codec(self: Arc<Self>, from: &FromClient<'_>) -> Result<Option<Codec>, CodecRefusal> {
        self.0.clone().server_codec(from)
    }
}
