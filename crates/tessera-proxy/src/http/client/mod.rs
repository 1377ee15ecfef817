//! Pools of connections, one for each peer.
