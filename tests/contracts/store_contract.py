"""What every event store keeps. A store's tests subclass :class:`StoreContract` and give it a door."""

from tests.contracts.store_blob_contract import BlobContract
from tests.contracts.store_finding_contract import FindingContract
from tests.contracts.store_lineage_contract import LineageContract
from tests.contracts.store_listing_contract import ListingContract
from tests.contracts.store_ownership_contract import OwnershipContract
from tests.contracts.store_snapshot_contract import SnapshotContract
from tests.contracts.store_unsettled_contract import UnsettledContract
from tests.contracts.store_writing_contract import WritingContract


class StoreContract(
    WritingContract,
    LineageContract,
    BlobContract,
    FindingContract,
    ListingContract,
    SnapshotContract,
    UnsettledContract,
    OwnershipContract,
):
    """All of it. The subclass has one fixture, ``door`` (see ``store_samples.Door``)."""
