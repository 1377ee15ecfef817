//! webpki
