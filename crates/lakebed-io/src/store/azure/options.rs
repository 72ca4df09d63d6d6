//! The options of Azure.

use object_store::azure::AzureConfigKey;

use crate::store::options::Key;
use crate::store::options::secrecy::{Held, of_client};

impl Key for AzureConfigKey {
    const ENV_PREFIX: &'static str = "AZURE_";
    const ENV_ALIAS: Option<(&'static str, &'static str)> = Some(("IDENTITY_ENDPOINT", "azure_msi_endpoint"));
    fn names_identity(self) -> bool {
        use AzureConfigKey as K;
        matches!(
            self,
            K::AccessKey
                | K::SasKey
                | K::Token
                | K::ClientId
                | K::ClientSecret
                | K::AuthorityId
                | K::FederatedTokenFile
                | K::MsiEndpoint
                | K::ObjectId
                | K::MsiResourceId
                | K::UseAzureCli
                | K::SkipSignature
                | K::FabricTokenServiceUrl
                | K::FabricWorkloadHost
                | K::FabricSessionToken
                | K::FabricClusterIdentifier
        )
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}

/// What an option holds.
pub(in crate::store) fn of_azure(key: AzureConfigKey) -> Held {
    use AzureConfigKey as K;
    match key {
        K::AccountName | K::ContainerName | K::UseEmulator | K::UseFabricEndpoint | K::DisableTagging => Held::Plain,
        K::Endpoint | K::AuthorityHost => Held::Address,
        K::SkipSignature
        | K::UseAzureCli
        | K::ClientId
        | K::AuthorityId
        | K::ObjectId
        | K::MsiResourceId
        | K::FederatedTokenFile => Held::Identity,
        K::AccessKey | K::SasKey | K::Token | K::ClientSecret | K::FabricSessionToken => Held::SecretOfIdentity,
        K::Client(key) => of_client(key),
        _ => Held::Unknown,
    }
}
