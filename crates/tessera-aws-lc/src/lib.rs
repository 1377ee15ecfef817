//! aws-lc
