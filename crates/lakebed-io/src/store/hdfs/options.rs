//! The options of HDFS.

/// Options with these prefixes belong to Hadoop's configuration and are passed to the client
/// unchanged.
pub(in crate::store) const HADOOP_PREFIXES: [&str; 4] = ["dfs.", "fs.", "hadoop.", "ipc."];

/// Returns whether an option is an address of an HDFS cluster or a setting of its client, and is no
/// secret.
pub(in crate::store) fn is_of_hadoop(name: &str) -> bool {
    const PLAIN: [&str; 30] = [
        "dfs.nameservices",
        "dfs.internal.nameservices",
        "dfs.nameservice.id",
        "dfs.ha.",
        "dfs.namenode.rpc-address",
        "dfs.namenode.servicerpc-address",
        "dfs.namenode.http-address",
        "dfs.namenode.https-address",
        "dfs.namenode.kerberos.principal",
        "dfs.datanode.kerberos.principal",
        "dfs.http.policy",
        "dfs.client.",
        "dfs.replication",
        "dfs.blocksize",
        "dfs.block.size",
        "dfs.bytes-per-checksum",
        "dfs.checksum.",
        "dfs.permissions.",
        "dfs.data.transfer.protection",
        "dfs.data.transfer.saslproperties.resolver.class",
        "dfs.encrypt.data.transfer",
        "fs.defaultfs",
        "fs.default.name",
        "fs.hdfs.impl",
        "fs.viewfs.",
        "ipc.client.",
        "hadoop.rpc.protection",
        "hadoop.security.authentication",
        "hadoop.security.authorization",
        "hadoop.user.group.static.mapping.overrides",
    ];
    let is_secret = ["password", "secret", "token", "key", "credential"].iter().any(|word| name.contains(word));
    !is_secret && PLAIN.iter().any(|plain| name.starts_with(plain))
}
