import { campaignTest } from "./support/fault-campaign.ts";

campaignTest("pkcs11-process");
