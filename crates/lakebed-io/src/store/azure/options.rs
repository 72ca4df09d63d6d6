//! The options of Azure.

use object_store::azure::AzureConfigKey;

use crate::store::options::Key;
use crate::store::options::secrecy::{Secrecy, of_client};

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

/// Returns the secrecy of an option.
pub(in crate::store) fn of_azure(key: AzureConfigKey) -> Secrecy {
    use AzureConfigKey as K;
    match key {
        K::AccountName | K::ContainerName | K::UseEmulator | K::UseFabricEndpoint | K::DisableTagging => Secrecy::Plain,
        K::Endpoint | K::AuthorityHost => Secrecy::Address,
        K::SkipSignature
        | K::UseAzureCli
        | K::ClientId
        | K::AuthorityId
        | K::ObjectId
        | K::MsiResourceId
        | K::FederatedTokenFile => Secrecy::Identity,
        K::AccessKey | K::SasKey | K::Token | K::ClientSecret | K::FabricSessionToken => Secrecy::SecretOfIdentity,
        K::Client(key) => of_client(key),
        _ => Secrecy::Unknown,
    }
}
